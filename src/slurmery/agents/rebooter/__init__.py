"""The rebooter: empties and reboots the Kubernetes node that it runs on, when conditions ask for it."""
