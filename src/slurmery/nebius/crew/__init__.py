"""The workers of a cluster: pods of StatefulSets that we let shrink and renew only where no job runs."""
