package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Widget is the bench's custom resource with every field it has.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WidgetSpec   `json:"spec"`
	Status            WidgetStatus `json:"status"`
}

// WidgetList is what a LIST gives.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Widget `json:"items"`
}

type WidgetSpec struct {
	Stamp        string            `json:"stamp,omitempty"`
	Replicas     int64             `json:"replicas,omitempty"`
	Paused       bool              `json:"paused,omitempty"`
	Selector     map[string]string `json:"selector,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Strategy     Strategy          `json:"strategy"`
	Containers   []Container       `json:"containers,omitempty"`
}

type Strategy struct {
	Type           string `json:"type,omitempty"`
	MaxSurge       int64  `json:"maxSurge,omitempty"`
	MaxUnavailable int64  `json:"maxUnavailable,omitempty"`
}

type Container struct {
	Name         string        `json:"name"`
	Image        string        `json:"image"`
	Args         []string      `json:"args,omitempty"`
	Env          []EnvVar      `json:"env,omitempty"`
	Ports        []Port        `json:"ports,omitempty"`
	Resources    Resources     `json:"resources"`
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
}

type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type Port struct {
	Name          string `json:"name,omitempty"`
	ContainerPort int64  `json:"containerPort"`
	Protocol      string `json:"protocol,omitempty"`
}

type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

type VolumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

type WidgetStatus struct {
	Phase              string      `json:"phase,omitempty"`
	Replicas           int64       `json:"replicas,omitempty"`
	ReadyReplicas      int64       `json:"readyReplicas,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
}

type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason,omitempty"`
	Message            string `json:"message,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

// DeepCopyObject makes a Widget a runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec = w.Spec.deepCopy()
	copied.Status.Conditions = copySlice(w.Status.Conditions)
	return &copied
}

// DeepCopyObject makes a WidgetList a runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Widget, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Widget)
	}
	return &copied
}
