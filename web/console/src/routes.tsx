import { type ComponentType, lazy } from 'react';
import { need } from './lib/api.ts';

/** Route is one page: its place, its texts' key, and the call without which it is absent. */
export interface Route {
  path: string;
  name: string;
  call: string;
  page: ComponentType<{ params: Record<string, string> }>;
}

const Live = lazy(() =>
  import('./pages/live.tsx').then((m) => ({
    default: (p: { params: Record<string, string> }) => <m.default id={p.params.id ?? ''} />,
  })),
);
const LiveList = lazy(() => import('./pages/live.tsx').then((m) => ({ default: m.LiveList })));

const all: Route[] = [
  { path: '', name: 'overview', call: 'GET /v1/admin/campaigns', page: lazy(() => import('./pages/overview.tsx')) },
  { path: '/live', name: 'live', call: 'GET /v1/admin/campaigns/{id}/live', page: LiveList },
  { path: '/live/:id', name: 'live', call: 'GET /v1/admin/campaigns/{id}/live', page: Live },
  {
    path: '/campaigns',
    name: 'campaigns',
    call: 'GET /v1/admin/campaigns',
    page: lazy(() => import('./pages/campaigns.tsx')),
  },
  {
    path: '/campaigns/new',
    name: 'campaigns',
    call: 'POST /v1/admin/campaigns',
    page: lazy(() => import('./pages/editor.tsx')),
  },
  {
    path: '/campaigns/:id',
    name: 'campaigns',
    call: 'GET /v1/admin/campaigns/{id}',
    page: lazy(() => import('./pages/campaign.tsx')),
  },
  {
    path: '/campaigns/:id/edit',
    name: 'campaigns',
    call: 'PATCH /v1/admin/campaigns/{id}',
    page: lazy(() => import('./pages/editor.tsx')),
  },
  {
    path: '/campaigns/:id/report',
    name: 'campaigns',
    call: 'GET /v1/admin/campaigns/{id}/report',
    page: lazy(() => import('./pages/report.tsx')),
  },
  { path: '/lookup', name: 'lookup', call: 'GET /v1/admin/lookup', page: lazy(() => import('./pages/lookup.tsx')) },
  { path: '/orders', name: 'orders', call: 'GET /v1/admin/orders', page: lazy(() => import('./pages/orders.tsx')) },
  { path: '/coupons', name: 'coupons', call: 'GET /v1/admin/coupons', page: lazy(() => import('./pages/coupons.tsx')) },
  {
    path: '/reconcile',
    name: 'reconcile',
    call: 'GET /v1/admin/reconcile',
    page: lazy(() => import('./pages/reconcile.tsx')),
  },
  {
    path: '/dead-letters',
    name: 'letters',
    call: 'GET /v1/admin/dead-letters',
    page: lazy(() => import('./pages/letters.tsx')),
  },
  {
    path: '/switches',
    name: 'switches',
    call: 'GET /v1/admin/switches',
    page: lazy(() => import('./pages/switches.tsx')),
  },
  {
    path: '/blocklist',
    name: 'blocklist',
    call: 'GET /v1/admin/blocklist',
    page: lazy(() => import('./pages/blocklist.tsx')),
  },
  { path: '/rules', name: 'rules', call: 'GET /v1/admin/rules', page: lazy(() => import('./pages/rules.tsx')) },
  { path: '/jobs', name: 'jobs', call: 'GET /v1/admin/jobs', page: lazy(() => import('./pages/jobs.tsx')) },
  { path: '/audit', name: 'audit', call: 'GET /v1/admin/audit-log', page: lazy(() => import('./pages/audit.tsx')) },
  { path: '/keys', name: 'keys', call: 'GET /v1/admin/api-keys', page: lazy(() => import('./pages/keys.tsx')) },
  { path: '/system', name: 'system', call: 'GET /v1/admin/nodes', page: lazy(() => import('./pages/system.tsx')) },
];

/** The pages that this version has: a page whose call is absent is absent. */
export const routes = all.filter((r) => need(r.call) !== undefined);

/** The navigation, in groups. */
export const navigation: [string, string[]][] = [
  ['run', ['', '/live', '/campaigns']],
  ['help', ['/lookup', '/orders', '/coupons']],
  ['keep', ['/reconcile', '/dead-letters', '/jobs']],
  ['guard', ['/switches', '/blocklist', '/rules']],
  ['account', ['/audit', '/keys', '/system']],
];
