import type { Schemas } from './api.ts';

/** Another server of the fleet, and where its console is; without an address it is to be found by its name. */
export interface OtherNode {
  name: string;
  port: string;
  url?: string;
}

const anywhere = ['', '0.0.0.0', '[::]'];
const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Gives the nodes that lived when last heard of, but the one that answers here, with the address of a path on each. A
 * node knows what it listens on, not what it is called from outside: an address of every interface leads nowhere, and one
 * of the loopback only from the same machine.
 */
export function otherNodes(
  nodes: Schemas['NodeAnswer'][],
  here: { protocol: string; hostname: string },
  path: string,
): OtherNode[] {
  return nodes
    .filter((x) => x.alive && !x.self)
    .map((x) => {
      const colon = x.addr.lastIndexOf(':');
      const [host, port] = [x.addr.slice(0, colon), x.addr.slice(colon + 1)];
      const near = loopback.test(here.hostname);
      const known = !anywhere.includes(host) && (!loopback.test(host) || near);
      const told = { name: x.name, port };
      return known ? { ...told, url: `${here.protocol}//${x.addr}${path}` } : told;
    });
}
