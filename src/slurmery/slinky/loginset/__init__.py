"""LoginSet: pods that users log in to over SSH and submit jobs from."""
