package main

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// container runs what the unit says, or nothing at all in stock.
func container(unit *GPUUnit, stock bool) (*corev1ac.ContainerApplyConfiguration, error) {
	sizes, err := resources(unit)
	if err != nil {
		return nil, err
	}
	applied := corev1ac.Container().
		WithName("unit").
		WithImage(pauseImage).
		WithResources(corev1ac.ResourceRequirements().WithRequests(sizes).WithLimits(sizes)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	if stock {
		return applied, nil
	}
	applied.WithImage(unit.Spec.Image).
		WithCommand(unit.Spec.Template.Command...).
		WithArgs(unit.Spec.Template.Args...).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(sharedMemory).WithMountPath("/dev/shm"))
	applied.Env = environment(unit)
	for _, port := range unit.Spec.Template.Ports {
		applied.WithPorts(corev1ac.ContainerPort().
			WithName(port.Name).WithContainerPort(port.Port).WithProtocol(port.Protocol))
	}
	return applied, nil
}

func resources(unit *GPUUnit) (corev1.ResourceList, error) {
	asked := map[corev1.ResourceName]string{corev1.ResourceMemory: unit.Spec.Memory}
	if unit.Spec.CPU != "" {
		asked[corev1.ResourceCPU] = unit.Spec.CPU
	}
	if unit.Spec.GPU > 0 {
		asked[corev1.ResourceName(unit.Spec.GPUResource)] = strconv.FormatInt(unit.Spec.GPU, 10)
	}
	sizes := corev1.ResourceList{}
	for name, text := range asked {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sizes[name] = quantity
	}
	return sizes, nil
}

// environment is ours first; a value of the user's wins.
func environment(unit *GPUUnit) []corev1ac.EnvVarApplyConfiguration {
	given := []corev1.EnvVar{
		{Name: "UNIT_NAME", Value: unit.Name},
		{Name: "SPEC_NAME", Value: unit.Spec.SpecName},
		{Name: "GPU_COUNT", Value: strconv.FormatInt(unit.Spec.GPU, 10)},
		{Name: "MEMORY_LIMIT", Value: unit.Spec.Memory},
	}
	applied := []corev1ac.EnvVarApplyConfiguration{}
	for _, each := range given {
		same := func(theirs corev1.EnvVar) bool { return theirs.Name == each.Name }
		if !slices.ContainsFunc(unit.Spec.Template.Envs, same) {
			applied = append(applied, *envVar(each))
		}
	}
	for _, each := range unit.Spec.Template.Envs {
		applied = append(applied, *envVar(each))
	}
	return applied
}

func envVar(variable corev1.EnvVar) *corev1ac.EnvVarApplyConfiguration {
	applied := corev1ac.EnvVar().WithName(variable.Name)
	if variable.ValueFrom == nil || variable.ValueFrom.SecretKeyRef == nil {
		return applied.WithValue(variable.Value)
	}
	secret := variable.ValueFrom.SecretKeyRef
	return applied.WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(
		corev1ac.SecretKeySelector().WithName(secret.Name).WithKey(secret.Key)))
}
