package rabbitmq

import (
	"crypto/tls"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sluice-sale/sluice"
)

var (
	errNotConnected = errors.New("there is no connection yet")
	errBlocked      = errors.New("the broker takes no messages: it is short of memory or disk")
	errClosed       = errors.New("closed")
	errLost         = errors.New("the connection was lost")
	errNoConfirm    = errors.New("no confirmation in time")
)

// connectFault explains why a connection to host cannot be had. Nothing was done in any case.
func connectFault(err error, a address, host string) error {
	var e *amqp.Error
	if errors.As(err, &e) {
		switch e.Code {
		case amqp.AccessRefused:
			return fmt.Errorf("%w: %w", err, sluice.NewFault(sluice.ErrInvalid, "QUEUE_REFUSED", fmt.Sprintf(
				"RabbitMQ at %s refuses this user, or this user on vhost %q: check the name and password in the queue's"+
					" address, and rabbitmqctl list_permissions -p %q", host, a.vhostName(), a.vhostName())))
		case amqp.NotAllowed:
			return fmt.Errorf("%w: %w", err, sluice.NewFault(sluice.ErrInvalid, "QUEUE_REFUSED", fmt.Sprintf(
				"RabbitMQ at %s has no vhost %q for this user: rabbitmqctl add_vhost %q, then set_permissions",
				host, a.vhostName(), a.vhostName())))
		}
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Errorf("%w: %w", err, sluice.NewFault(sluice.ErrInvalid, "QUEUE_TLS", fmt.Sprintf(
			"the certificate of RabbitMQ at %s is not believed: name the PEM file of its authority in the setting rabbitmq.ca,"+
				" and the server by a name that its certificate has", host)))
	}
	return fmt.Errorf("rabbitmq: connect to %s: %w: %w", host, sluice.ErrUnavailable, err)
}

// declareFault explains why something could not be declared, and what to change.
func declareFault(err error, what, name, vhost string) error {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("rabbitmq: declare %s %s: %w: %w", what, name, sluice.ErrUnavailable, err)
	}
	switch e.Code {
	case amqp.PreconditionFailed:
		remove := "rabbitmqctl -p " + vhost + " delete_queue " + name
		if what == "exchange" {
			remove = "rabbitmqadmin -V " + vhost + " delete exchange name=" + name
		}
		return sluice.NewFault(sluice.ErrConflict, "QUEUE_TOPOLOGY", fmt.Sprintf(
			"the %s %s is there with other settings than Sluice needs (RabbitMQ says: %s). If it is Sluice's own, of older"+
				" settings, let it run empty and delete it (%s); it is made anew. If it is someone else's, give Sluice another"+
				" vhost or prefix.", what, name, e.Reason, remove))
	case amqp.AccessRefused:
		return sluice.NewFault(sluice.ErrInvalid, "QUEUE_REFUSED", fmt.Sprintf(
			"this user may not declare the %s %s in vhost %s: it needs configure, write and read on names that begin with"+
				" the prefix (rabbitmqctl set_permissions)", what, name, vhost))
	case amqp.NotImplemented, amqp.CommandInvalid:
		return sluice.NewFault(sluice.ErrInvalid, "QUEUE_REFUSED", fmt.Sprintf(
			"this RabbitMQ cannot have the %s %s (it says: %s): Sluice needs quorum queues, RabbitMQ 3.10 or newer",
			what, name, e.Reason))
	}
	return fmt.Errorf("rabbitmq: declare %s %s: %w: %w", what, name, sluice.ErrUnavailable, err)
}
