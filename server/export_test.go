package server

// DrainTime is how long a service that stops goes on answering.
var DrainTime = &drainTime
