// Package chaos runs a sale on three nodes of the built binary, with real Redis, MariaDB and RabbitMQ behind them,
// breaks one part in the middle, and then holds every answer that any client ever got against the rows of the ledger.
// What the clients saw in the meantime is part of the result.
package chaos
