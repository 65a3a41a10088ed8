package main

import "maps"

func (s WidgetSpec) deepCopy() WidgetSpec {
	s.Selector = maps.Clone(s.Selector)
	s.NodeSelector = maps.Clone(s.NodeSelector)
	s.Containers = copySlice(s.Containers)
	for i := range s.Containers {
		s.Containers[i] = s.Containers[i].deepCopy()
	}
	return s
}

func (c Container) deepCopy() Container {
	c.Args = copySlice(c.Args)
	c.Env = copySlice(c.Env)
	c.Ports = copySlice(c.Ports)
	c.VolumeMounts = copySlice(c.VolumeMounts)
	c.Resources.Requests = maps.Clone(c.Resources.Requests)
	c.Resources.Limits = maps.Clone(c.Resources.Limits)
	return c
}

func copySlice[T any](from []T) []T {
	if from == nil {
		return nil
	}
	return append([]T{}, from...)
}
