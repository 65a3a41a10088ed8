package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "runtime.lokiwager.io", Version: "v1alpha1"}

// AddToScheme makes a scheme know GPUUnits.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &GPUUnit{}, &GPUUnitList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// GPUUnit is a reservation in the stock namespace and a user's machine elsewhere.
type GPUUnit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              GPUUnitSpec   `json:"spec"`
	Status            GPUUnitStatus `json:"status,omitzero"`
}

// GPUUnitList is what a LIST gives.
type GPUUnitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []GPUUnit `json:"items"`
}

type GPUUnitSpec struct {
	SpecName     string              `json:"specName"`
	Image        string              `json:"image,omitempty"`
	CPU          string              `json:"cpu,omitempty"`
	Memory       string              `json:"memory,omitempty"`
	GPU          int64               `json:"gpu,omitempty"`
	GPUResource  string              `json:"gpuResource,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	ShmSize      string              `json:"shmSize,omitempty"`
	Template     Template            `json:"template,omitzero"`
}

type Template struct {
	Command []string        `json:"command,omitempty"`
	Args    []string        `json:"args,omitempty"`
	Envs    []corev1.EnvVar `json:"envs,omitempty"`
	Ports   []Port          `json:"ports,omitempty"`
}

type Port struct {
	Name     string          `json:"name"`
	Port     int32           `json:"port"`
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

type GPUUnitStatus struct {
	Phase              string             `json:"phase,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	LastSyncTime       *metav1.Time       `json:"lastSyncTime,omitempty"`
	ServiceName        string             `json:"serviceName,omitempty"`
	NodeName           string             `json:"nodeName,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}
