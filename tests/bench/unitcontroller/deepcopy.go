package main

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject makes a GPUUnit a runtime.Object.
func (u *GPUUnit) DeepCopyObject() runtime.Object { return u.DeepCopy() }

// DeepCopy gives a unit that shares nothing with this one.
func (u *GPUUnit) DeepCopy() *GPUUnit {
	copied := *u
	u.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec = u.Spec.deepCopy()
	copied.Status = u.Status.deepCopy()
	return &copied
}

func (s GPUUnitSpec) deepCopy() GPUUnitSpec {
	s.NodeSelector = maps.Clone(s.NodeSelector)
	s.Tolerations = slices.Clone(s.Tolerations)
	for i := range s.Tolerations {
		s.Tolerations[i] = *s.Tolerations[i].DeepCopy()
	}
	s.Template.Command = slices.Clone(s.Template.Command)
	s.Template.Args = slices.Clone(s.Template.Args)
	s.Template.Ports = slices.Clone(s.Template.Ports)
	envs := make([]corev1.EnvVar, len(s.Template.Envs))
	for i := range envs {
		s.Template.Envs[i].DeepCopyInto(&envs[i])
	}
	s.Template.Envs = envs
	return s
}

func (s GPUUnitStatus) deepCopy() GPUUnitStatus {
	s.LastSyncTime = s.LastSyncTime.DeepCopy()
	s.Conditions = slices.Clone(s.Conditions)
	return s
}

// DeepCopyObject makes a GPUUnitList a runtime.Object.
func (l *GPUUnitList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]GPUUnit, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopy()
	}
	return &copied
}
