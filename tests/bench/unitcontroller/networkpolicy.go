package main

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
)

var (
	privateIPv4 = []string{
		"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	}
	privateIPv6 = []string{"fc00::/7", "fe80::/10"}
)

// networkPolicyOf denies everything to stock; a unit is reached at its ports and reaches the public.
func networkPolicyOf(unit *GPUUnit, stock bool) *networkingv1ac.NetworkPolicyApplyConfiguration {
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(unit))).
		WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	if !stock {
		spec.WithEgress(dns(), public("0.0.0.0/0", privateIPv4), public("::/0", privateIPv6))
		if len(unit.Spec.Template.Ports) > 0 {
			spec.WithIngress(declaredPorts(unit))
		}
	}
	return networkingv1ac.NetworkPolicy(policyName(unit), unit.Namespace).
		WithLabels(labels(unit)).
		WithOwnerReferences(owner(unit)).
		WithSpec(spec)
}

func declaredPorts(unit *GPUUnit) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyIngressRule()
	for _, port := range unit.Spec.Template.Ports {
		rule.WithPorts(policyPort(port.Protocol, port.Port))
	}
	return rule
}

func dns() *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyEgressRule().
		WithPorts(policyPort(corev1.ProtocolUDP, 53), policyPort(corev1.ProtocolTCP, 53))
}

func public(all string, private []string) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	block := networkingv1ac.IPBlock().WithCIDR(all).WithExcept(private...)
	return networkingv1ac.NetworkPolicyEgressRule().
		WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(block))
}

func policyPort(protocol corev1.Protocol, port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(port))
}
