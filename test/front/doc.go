// Package front tests the front of the house: the nginx configuration on a real nginx, the compose file and the units
// of systemd. What it starts is its own and ends with it.
package front
