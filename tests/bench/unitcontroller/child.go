package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

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

// Change is what was done to a child; nothing if it was right.
type Change struct{ reason, child string }

// apply writes a child unless the live one has every desired field and nothing was taken back.
func apply[C Configuration[C]](
	ctx context.Context, r *Reconciler, unit *GPUUnit, desired C, wanted, live client.Object, same func() bool,
) (Change, error) {
	body, err := json.Marshal(desired)
	if err != nil {
		return Change{}, err
	}
	if err := json.Unmarshal(body, wanted); err != nil {
		return Change{}, err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:8])
	change := Change{"Updated", kind(wanted) + " " + wanted.GetName()}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(wanted), live); apierrors.IsNotFound(err) {
		change.reason = "Created"
	} else if err != nil {
		return Change{}, err
	} else if !metav1.IsControlledBy(live, unit) {
		return Change{}, fmt.Errorf("%s is not ours", change.child)
	} else if live.GetAnnotations()[appliedHash] == hash && hasLabels(live, wanted) && same() {
		return Change{}, nil
	}
	desired.WithAnnotations(map[string]string{appliedHash: hash})
	return change, r.client.Apply(ctx, desired, fieldOwner, client.ForceOwnership)
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
