"""Health and repair: what is wrong with a Kubernetes node drains its workers, and the other way round."""
