"""A thin Kubernetes runtime: client, informers, work queue, controllers, apply, lease, events."""
