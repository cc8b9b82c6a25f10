// Package rabbitmq carries admitted claims from the outbox to the settlers over RabbitMQ, and reminders of orders that
// fall due.
//
// It decides what RabbitMQ is asked for (names, queue types, bounds), when a message counts as taken (the broker has
// confirmed it and routed it), and what is done when the broker goes away (connect again, for ever, with a growing
// pause). It refuses to decide what becomes of a claim: a message that cannot be read is handed over with its fault,
// and whoever settles claims keeps it for a person. It also never throws a message away and never counts tries: the
// ledger does.
//
// Nothing here has to be exactly once. A message whose confirmation did not come may be there or not, so that the
// caller publishes it again; a delivery whose acknowledgement was lost comes again. Both are harmless because settling
// a claim is idempotent.
package rabbitmq
