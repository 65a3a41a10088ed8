package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldOwner = client.FieldOwner("unitcontroller")

// Configuration is any apply configuration that can be annotated.
type Configuration[C any] interface {
	runtime.ApplyConfiguration
	WithAnnotations(map[string]string) C
}

// apply writes a child unless the live one has every desired field and nothing was taken back.
func apply[C Configuration[C]](
	ctx context.Context, r *Reconciler, unit *GPUUnit, desired C, wanted, live client.Object, same func() bool,
) error {
	body, err := json.Marshal(desired)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, wanted); err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:8])
	err = r.client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return err
	}
	if !absent && !metav1.IsControlledBy(live, unit) {
		return fmt.Errorf("%T %s is not ours", live, live.GetName())
	}
	if !absent && live.GetAnnotations()[appliedHash] == hash && hasLabels(live, wanted) && same() {
		return nil
	}
	desired.WithAnnotations(map[string]string{appliedHash: hash})
	if err := r.client.Apply(ctx, desired, fieldOwner, client.ForceOwnership); err != nil {
		return err
	}
	reason := "Updated"
	if absent {
		reason = "Created"
	}
	r.recorder.Eventf(unit, nil, corev1.EventTypeNormal, reason, "Apply", "%s %s", kind(wanted), wanted.GetName())
	return nil
}

func hasLabels(live, wanted client.Object) bool {
	there := live.GetLabels()
	for key, value := range wanted.GetLabels() {
		if there[key] != value {
			return false
		}
	}
	return true
}

func kind(object client.Object) string { return object.GetObjectKind().GroupVersionKind().Kind }
