// Made from api/openapi-admin.json by `npm run types`. Do not edit.
export interface paths {
    "/v1/admin/allowlist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whom neither blocklist nor risk rules touch
         * @description Needs an API key of role support or above.
         */
        get: operations["get-allowlist"];
        put?: never;
        /**
         * Allow an address, a network, a user or a device
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-allowlist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/allowlist/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The allowlist as CSV
         * @description Needs an API key of role support or above. Columns: scope, value, reason, author, created_at, expires_at. Fields that a spreadsheet would calculate begin with an apostrophe, which an import takes away.
         */
        get: operations["get-allowlist-export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/allowlist/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add the entries of a CSV, and change those that are there
         * @description Needs an API key of role operator or above. The body is CSV of at most 4 MB and 20,000 rows, with a first line that names its columns; scope and value are required. With dry_run=true nothing is written. Where a line has a fault nothing is imported. Entries that the CSV does not have stay.
         */
        post: operations["post-allowlist-import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/allowlist/import-jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add the entries of a CSV, and change those that are there, as a job
         * @description Needs an API key of role operator or above. The body is that of /v1/admin/allowlist/import, which tells with dry_run=true what it would come to.
         */
        post: operations["post-allowlist-import-jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/allowlist/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One entry of the allowlist
         * @description Needs an API key of role support or above.
         */
        get: operations["get-allowlist-id"];
        put?: never;
        post?: never;
        /**
         * Take an entry off the allowlist
         * @description Needs an API key of role operator or above.
         */
        delete: operations["delete-allowlist-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every API key, revoked ones too
         * @description Needs an API key of role admin or above.
         */
        get: operations["get-api-keys"];
        put?: never;
        /**
         * Make an API key, shown this once
         * @description Needs an API key of role admin or above. Areas are tags of this description, in lower case and with dashes. A key makes none that may more than itself.
         */
        post: operations["post-api-keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key, in force at once
         * @description Needs an API key of role admin or above.
         */
        delete: operations["delete-api-keys-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/api-keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an API key a new secret, shown this once
         * @description Needs an API key of role admin or above. Id, name, role and scope stay. The old secret is good for grace_s more, then dies by itself; one that was in its grace already ends at once. Where the answer is lost, rotate again under the same rotation_id: the secret that nobody saw is replaced, and the old one keeps its grace. A session goes by the secret that it was opened with. A key with a scope rotates none that may more than itself.
         */
        post: operations["post-api-keys-id-rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who changed what from what to what, newest first
         * @description Needs an API key of role support or above.
         */
        get: operations["get-audit-log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit-log.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The audit log for a spreadsheet, at most 10000 rows, newest first
         * @description Needs an API key of role support or above. Where more matched, header Sluice-Cut says how many it has.
         */
        get: operations["get-audit-log-csv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit-log.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The audit log as a file, at most 10000 rows, newest first
         * @description Needs an API key of role support or above.
         */
        get: operations["get-audit-log-json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The blocks in force
         * @description Needs an API key of role support or above.
         */
        get: operations["get-blocklist"];
        put?: never;
        /**
         * Block an address, a network, a user or a device
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-blocklist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The blocklist as CSV
         * @description Needs an API key of role support or above. Columns: scope, value, reason, author, created_at, expires_at. Fields that a spreadsheet would calculate begin with an apostrophe, which an import takes away.
         */
        get: operations["get-blocklist-export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add the blocks of a CSV, and change those that are there
         * @description Needs an API key of role operator or above. The body is CSV of at most 4 MB and 20,000 rows, with a first line that names its columns; scope and value are required. With dry_run=true nothing is written. Where a line has a fault nothing is imported. Entries that the CSV does not have stay.
         */
        post: operations["post-blocklist-import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist/import-jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add the blocks of a CSV, and change those that are there, as a job
         * @description Needs an API key of role operator or above. The body is that of /v1/admin/blocklist/import, which tells with dry_run=true what it would come to.
         */
        post: operations["post-blocklist-import-jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whom a block would hit, before it is made
         * @description Needs an API key of role support or above. It changes nothing. What it counts is what this node has seen; the allowlist is not looked at.
         */
        get: operations["get-blocklist-preview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/blocklist/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One block, by the reference a buyer was shown
         * @description Needs an API key of role support or above.
         */
        get: operations["get-blocklist-id"];
        put?: never;
        post?: never;
        /**
         * Lift a block
         * @description Needs an API key of role operator or above.
         */
        delete: operations["delete-blocklist-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The campaigns, in the order of their creation
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns"];
        put?: never;
        /**
         * Create a campaign
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One campaign
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change what may still change
         * @description Needs an API key of role operator or above.
         */
        patch: operations["patch-campaigns-id"];
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/adjustments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the total, once a change id
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-adjustments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/analysis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the decisions on a campaign say after its sale
         * @description Made in the background from the decision log of the node that is asked, or from the ledger where it keeps none: ask again until state is done or failed. A log of ten million decisions takes about a minute. The last sixteen are kept. Needs an API key of role support or above.
         */
        get: operations["get-campaigns-id-analysis"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/audience": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the audience
         * @description Needs an API key of role operator or above. The body is text or CSV: a user id a line, up to five million. A first line user_id is a heading; further columns are passed over. It keeps others out where the campaign's eligibility has "audience": true.
         */
        put: operations["put-campaigns-id-audience"];
        /**
         * Add users to the audience
         * @description Needs an API key of role operator or above. The body is text or CSV: a user id a line, up to five million. A first line user_id is a heading; further columns are passed over. It keeps others out where the campaign's eligibility has "audience": true.
         */
        post: operations["post-campaigns-id-audience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/audience/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take users out of the audience
         * @description Needs an API key of role operator or above. The body is text or CSV: a user id a line, up to five million. A first line user_id is a heading; further columns are passed over. It keeps others out where the campaign's eligibility has "audience": true.
         */
        post: operations["post-campaigns-id-audience-remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a draft like this campaign
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-clone"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End it for good
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-end"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue a claim by hand, once a grant id
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-grants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/grants/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue up to a million claims by hand
         * @description Needs an API key of role operator or above. The body is CSV with the header user_id,grant_id,quantity (quantity may be left out) or JSON lines with these fields. The answer is JSON lines: the result of each line in their order, then the totals with "done". Read it while you send: results wait for nobody. Sending the same grant ids again answers the same.
         */
        post: operations["post-campaigns-id-grants-bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A look at a running campaign
         * @description Needs an API key of role viewer or above. It is made at most once a second for all viewers. With since it has at most about 3 KB: the figures, and the buckets that are new. Buckets that come again replace those before.
         */
        get: operations["get-campaigns-id-live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refuse claims until it is resumed
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/preflight": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The last checks before the sale, and who signed them
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-preflight"];
        put?: never;
        /**
         * Make the checks before the sale
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-preflight"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/preflight/sign-off": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say go
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-preflight-sign-off"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/preheat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Arm a campaign ahead of its start and verify its permit against the ledger
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-preheat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Offer a draft
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-publish"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/rearm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Build the campaign's gates anew from the ledger, in a new epoch
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-rearm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/rehearsals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let the lab's crowd rush for a clone of the campaign, as a job
         * @description Needs an API key of role operator or above. The clone is a load test without passes, and is ended afterwards; the job's result is kept.
         */
        post: operations["post-campaigns-id-rehearsals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything about one campaign
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/report.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The report for a spreadsheet
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-report-csv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/report/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The links to a campaign's report that are in force, newest first
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-report-links"];
        put?: never;
        /**
         * Make a link to a campaign's report, shown this once: whoever has it needs no key
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-report-links"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/report/links/{link}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a link back: it shows nothing from then on
         * @description Needs an API key of role operator or above.
         */
        delete: operations["delete-campaigns-id-report-links-link"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take claims again after a pause or a freeze
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-campaigns-id-resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/shards": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What each shard of a campaign's gates holds
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-shards"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/campaigns/{id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recompute a campaign from its rows and compare with its permit
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-campaigns-id-verify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What this server is made of
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-capabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Claims: all of a campaign in the order of their rows, or those of one user, request or claim
         * @description Needs an API key of role support or above.
         */
        get: operations["get-claims"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The settings in force, secrets masked
         * @description Needs an API key of role operator or above.
         */
        get: operations["get-config"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search coupons, newest first
         * @description Needs an API key of role support or above. A page may be short, even empty, and still have a next_cursor: a search that no index helps looks at a bounded number of coupons.
         */
        get: operations["get-coupons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One coupon
         * @description Needs an API key of role support or above.
         */
        get: operations["get-coupons-code"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons/{code}/redeem": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeem a coupon in a merchant's name
         * @description Needs an API key of role operator or above. Idempotent by merchant and reference, and one with what the merchant does itself.
         */
        post: operations["post-coupons-code-redeem"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons/{code}/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a redemption in a merchant's name
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-coupons-code-reverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons/{code}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a coupon away
         * @description Needs an API key of role support or above.
         */
        post: operations["post-coupons-code-revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/coupons/{code}/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a coupon's lock
         * @description Needs an API key of role support or above.
         */
        post: operations["post-coupons-code-unlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Messages that failed their tries, the newest first
         * @description Needs an API key of role support or above.
         */
        get: operations["get-dead-letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/dead-letters/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give them up: a claim that the ledger does not know is rejected, and its units go back
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-dead-letters-discard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/dead-letters/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hand them to the settler again, with new tries, at a bounded pace
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-dead-letters-replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of them, with the message as it came
         * @description Needs an API key of role support or above.
         */
        get: operations["get-dead-letters-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every change of a campaign, order, coupon and switch, in order
         * @description Needs an API key of role support or above. Each event is given at least once, under an id that stays the same.
         */
        get: operations["get-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Bulk acts and rehearsals, the newest first
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-jobs"];
        put?: never;
        /**
         * Start a bulk act that goes on by itself
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of them
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-jobs-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop one; what it has done stays done
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-jobs-id-cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/log-level": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The log level
         * @description Needs an API key of role admin or above.
         */
        get: operations["get-log-level"];
        /**
         * Change the log level until the next start
         * @description Needs an API key of role admin or above.
         */
        put: operations["put-log-level"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything about one user, claim, order, request, coupon, payment or block, in the order of time
         * @description Needs an API key of role support or above.
         */
        get: operations["get-lookup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The servers of this fleet
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search orders, newest first
         * @description Needs an API key of role support or above. A page may be short, even empty, and still have a next_cursor: a search that no index helps looks at a bounded number of orders. Orders of load tests are among them where campaign, order, claim, request or payment asks for them.
         */
        get: operations["get-orders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/orders/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One order, with its payments
         * @description Needs an API key of role support or above.
         */
        get: operations["get-orders-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/orders/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an unpaid order
         * @description Needs an API key of role support or above.
         */
        post: operations["post-orders-id-cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/orders/{id}/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark an order's money as given back
         * @description Needs an API key of role support or above. The shop moves the money; Sluice marks and announces it. Where money came late or twice, the first refund is of that; extra_only never touches the order itself and is safe to repeat.
         */
        post: operations["post-orders-id-refund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What needs a person now, and the sales
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/pass-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The keys that passes are signed with
         * @description Needs an API key of role admin or above.
         */
        get: operations["get-pass-keys"];
        put?: never;
        /**
         * Make a new key for passes; those of before hold
         * @description Needs an API key of role admin or above.
         */
        post: operations["post-pass-keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search payments, newest first
         * @description Needs an API key of role support or above.
         */
        get: operations["get-payments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Comparisons of gate and ledger, the newest first
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-reconcile"];
        put?: never;
        /**
         * Compare a campaign's gate with its ledger now, and repair what differs
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-reconcile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/reconcile/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One comparison with all it found
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-reconcile-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/reconcile/{id}/repair": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Repair one difference that this comparison found, and no other
         * @description Needs an API key of role operator or above. It is compared anew first. 409, and nothing is done: it is not what was seen any more (DRIFT_CHANGED, DRIFT_GONE), its repair is for the whole campaign (REPAIR_IS_WHOLE), there is none (NO_REPAIR).
         */
        post: operations["post-reconcile-id-repair"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The risk rules, those of the file too
         * @description Needs an API key of role support or above.
         */
        get: operations["get-rules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rules/fired": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What risk rules did, newest first
         * @description Needs an API key of role support or above.
         */
        get: operations["get-rules-fired"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rules/fired/{id}/lift": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo what a rule did about one buyer, by its reference
         * @description Needs an API key of role operator or above.
         */
        post: operations["post-rules-fired-id-lift"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One risk rule
         * @description Needs an API key of role support or above.
         */
        get: operations["get-rules-id"];
        /**
         * Write a risk rule, new or changed
         * @description Needs an API key of role operator or above.
         */
        put: operations["put-rules-id"];
        post?: never;
        /**
         * Delete a risk rule; what it did ends
         * @description Needs an API key of role operator or above.
         */
        delete: operations["delete-rules-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who is signed in
         * @description Needs an API key of role admin or above.
         */
        get: operations["get-sessions"];
        put?: never;
        /**
         * Sign in: a cookie for an API key
         * @description Needs the key in the body. The cookie is HttpOnly and SameSite=Strict, and Secure under TLS; it ends after 12 h, and with its key.
         */
        post: operations["post-sessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/sessions/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The session that asks, and its CSRF token
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-sessions-current"];
        put?: never;
        post?: never;
        /**
         * Sign out
         * @description Needs an API key of role viewer or above.
         */
        delete: operations["delete-sessions-current"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End somebody's session
         * @description Needs an API key of role admin or above.
         */
        delete: operations["delete-sessions-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/shared/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The report that a link is for, without personal data
         * @description Needs no key but the secret of a link, as POST /v1/admin/campaigns/{id}/report/links gives it behind the #. 401 LINK_ENDED: it is wrong, has ended, or was taken back.
         */
        get: operations["get-shared-report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/shared/report.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The same report for a spreadsheet
         * @description Needs no key but the secret of a link, as POST /v1/admin/campaigns/{id}/report/links gives it behind the #. 401 LINK_ENDED: it is wrong, has ended, or was taken back.
         */
        get: operations["get-shared-report-csv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All campaigns in sums, load tests left out
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/switches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every switch and where it is set
         * @description Needs an API key of role viewer or above.
         */
        get: operations["get-switches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/switches/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set a switch
         * @description Needs an API key of role operator or above.
         */
        put: operations["put-switches-name"];
        post?: never;
        /**
         * Clear a switch: back to the default
         * @description Needs an API key of role operator or above.
         */
        delete: operations["delete-switches-name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AdjustmentAnswer: {
            /**
             * Format: int64
             * @description A decrease takes only what is available
             */
            applied: number;
            /** Format: int64 */
            asked: number;
            change_id: string;
            /** Format: int64 */
            revision: number;
            /** Format: int64 */
            total: number;
        };
        AdjustmentBody: {
            /** @description Required: names the change for good, 1 to 128 bytes */
            change_id?: string;
            /**
             * Format: int64
             * @description Required: units to add, or to take where negative
             */
            delta?: number;
            /** @description Why: for the audit log */
            reason?: string;
        };
        AdminCampaign: {
            /**
             * Format: int64
             * @description The permit's own figure
             */
            available: number;
            coupon?: components["schemas"]["AdminCoupon"];
            /** Format: date-time */
            created_at: string;
            /**
             * Format: int64
             * @description The total is this plus all adjustments
             */
            created_total: number;
            eligibility?: components["schemas"]["AdminEligibility"];
            /** Format: date-time */
            ends_at: string;
            goods?: components["schemas"]["AdminGoods"];
            /**
             * Format: int64
             * @description Units of unpaid orders
             */
            held: number;
            id: string;
            image_url?: string;
            /** @enum {string} */
            kind: "goods" | "coupon";
            limit_group?: string;
            /** @description Kept out of public lists and of the summary */
            load_test?: boolean;
            /** Format: int64 */
            per_user_limit: number;
            protection: components["schemas"]["AdminProtection"];
            /**
             * Format: int64
             * @description Units that are decided and not committed yet
             */
            queued: number;
            /**
             * Format: int64
             * @description Grows with each change of the total
             */
            revision: number;
            /**
             * Format: int64
             * @description Of its gate; more than one only where gates are in Redis
             */
            shards: number;
            /** Format: int64 */
            sold: number;
            /** Format: date-time */
            sold_out_at?: string;
            /** Format: date-time */
            starts_at: string;
            /** @enum {string} */
            state: "draft" | "scheduled" | "live" | "paused" | "frozen" | "sold_out" | "ended";
            /** @description Why it is paused or frozen */
            state_note?: string;
            title: string;
            /** Format: int64 */
            total: number;
            /** Format: date-time */
            updated_at: string;
        };
        AdminClaim: {
            campaign_id: string;
            claim_id: string;
            code: string;
            coupon_code?: string;
            /** @description Where the quantity is above 1 */
            coupon_codes?: string[] | null;
            coupon_state?: string;
            /** Format: date-time */
            created_at: string;
            order_id?: string;
            order_state?: string;
            /** Format: int64 */
            quantity: number;
            request_id?: string;
            /** @enum {string} */
            source: "claim" | "grant";
            /** @enum {string} */
            state: "queued" | "confirmed" | "rejected" | "released";
            user_id: string;
        };
        AdminCoupon: {
            currency?: string;
            /** Format: int64 */
            max_discount_minor?: number;
            /** @description Empty: every merchant */
            merchant_ids?: string[] | null;
            /** Format: int64 */
            min_spend_minor: number;
            /** @enum {string} */
            type: "amount_off" | "percent_off" | "exchange";
            /** Format: int64 */
            valid_days?: number;
            /** Format: date-time */
            valid_from?: string;
            /** Format: date-time */
            valid_until?: string;
            /** Format: int64 */
            value: number;
        };
        AdminEligibility: {
            /** @description Only users that were uploaded for the campaign */
            audience?: boolean;
            /** @description Each named token claim must have one of the values */
            claims?: {
                [key: string]: string[] | null;
            };
        };
        AdminGoods: {
            currency: string;
            limit_back_on_close: boolean;
            /** Format: int64 */
            price_minor: number;
            sku: string;
            /** Format: int64 */
            unpaid_window_s: number;
        };
        AdminOrder: {
            /**
             * Format: int64
             * @description For the whole quantity, in minor units of the currency
             */
            amount_minor: number;
            campaign_id: string;
            claim_id: string;
            /** @enum {string} */
            close_reason?: "expired" | "cancelled";
            /** Format: date-time */
            closed_at?: string;
            /** Format: date-time */
            created_at: string;
            currency: string;
            /**
             * Format: date-time
             * @description Until when it can be paid; moves on while payments are down
             */
            expires_at: string;
            id: string;
            /**
             * Format: int64
             * @description What it still takes of the user's limit
             */
            limit_units: number;
            /**
             * Format: int64
             * @description What it still takes from the stock
             */
            live_units: number;
            /** Format: date-time */
            paid_at?: string;
            /** @description With a single order: what came in for it, newest first */
            payments?: components["schemas"]["AdminPayment"][] | null;
            /** Format: int64 */
            quantity: number;
            /** @description Money came after the close, or twice, and has not gone back */
            refund_due: boolean;
            /** Format: date-time */
            refunded_at?: string;
            /** @description Why a claim that was promised was not granted */
            rejected?: string;
            request_id?: string;
            /** @enum {string} */
            source: "claim" | "grant";
            /** @enum {string} */
            state: "unpaid" | "paid" | "closed" | "refunded";
            user_id: string;
        };
        AdminPayment: {
            /** Format: int64 */
            amount_minor: number;
            currency: string;
            /** @description As it was sent */
            order_id: string;
            /** Format: date-time */
            received_at: string;
            reference: string;
            /** @enum {string} */
            result: "applied" | "refund_due" | "ignored" | "mismatch" | "unknown_order";
            status: string;
        };
        AdminProtection: {
            /** @enum {string} */
            challenge?: "pow" | "slider" | "image" | "siteverify";
            /**
             * Format: double
             * @description 0: no bound of its own
             */
            max_rate: number;
            /** @enum {string} */
            pass: "off" | "adaptive" | "always";
            /**
             * Format: double
             * @description 0: the server's default
             */
            per_user_rate: number;
            /** @description Claims are signed with the pass's key */
            signature?: boolean;
            /**
             * Format: int64
             * @description Seconds over which the opening is spread
             */
            spread_s?: number;
            /** @description SHA-256 of the seed of the slots, in hex */
            spread_seed_hash?: string;
        };
        Analysis: {
            campaign_id: string;
            /** @description Groups that look like one hand, the largest first */
            clusters: components["schemas"]["Cluster"][] | null;
            /** @description How many of each kind claimed */
            distinct: components["schemas"]["DistinctTotal"][] | null;
            /** @description Who got most units */
            holders: components["schemas"]["TopList"][] | null;
            /**
             * Format: int64
             * @description Lines of the log on this campaign; from the database: decisions
             */
            lines: number;
            /** @description What the source does not tell */
            missing: string[] | null;
            /**
             * Format: int64
             * @description Lines on other campaigns
             */
            other_lines: number;
            /** @description In the order of the funnel; exact */
            reasons: components["schemas"]["ReasonTotal"][] | null;
            /** @description Who had most of each refusal */
            refusals: components["schemas"]["RefusalTops"][] | null;
            /** @description Risk rules that spoke; exact */
            rules: components["schemas"]["RuleTotal"][] | null;
            /** @description Exact */
            seconds: components["schemas"]["SecondTotals"][] | null;
            /** @description The decision log, or the ledger, which knows less */
            source: string;
            /**
             * Format: int64
             * @description The start, where it is known, UTC ms
             */
            starts_ms?: number;
            /** @description Whom the units went to; exact */
            units: components["schemas"]["UnitShares"];
            /**
             * Format: int64
             * @description Lines that are no decision
             */
            unread_lines: number;
            /**
             * Format: int64
             * @description Of a row of seconds: 1,000, more where the log spans over two hours
             */
            width_ms: number;
        };
        AnalysisJob: {
            analysis?: components["schemas"]["Analysis"];
            /** Format: int64 */
            asked_at_ms: number;
            /** Format: int64 */
            done_at_ms?: number;
            error?: string;
            /** Format: int64 */
            of_bytes: number;
            /** Format: int64 */
            read_bytes: number;
            /** @enum {string} */
            state: "waiting" | "running" | "done" | "failed";
        };
        AudienceAnswer: {
            /** Format: int64 */
            added: number;
            /** @description False: all may claim until the campaign has eligibility.audience */
            asked_for: boolean;
            /** @description The first 100 of them */
            errors?: components["schemas"]["FieldProblem"][] | null;
            /**
             * Format: int64
             * @description Lines that could not be right, and were passed over
             */
            faulty: number;
            /** Format: int64 */
            lines: number;
            /** Format: int64 */
            removed: number;
            /**
             * Format: int64
             * @description Users in the audience now
             */
            total: number;
        };
        AuditActor: {
            addr?: string;
            key_id: string;
            name: string;
            role: string;
        };
        AuditEntry: {
            /** @description Such as campaign.pause */
            action: string;
            actor: components["schemas"]["AuditActor"];
            after?: unknown;
            /** Format: date-time */
            at: string;
            before?: unknown;
            /** @description Such as campaign/spring */
            object: string;
            reason?: string;
            request_id?: string;
            /** Format: int64 */
            seq: number;
        };
        AuditPageOutputBody: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor?: string;
        };
        BlockAnswer: {
            author?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string;
            /**
             * Format: int64
             * @description Refused by it, on this node, in lists
             */
            hits_hour?: number;
            /** @description The reference that a blocked buyer is shown */
            id: string;
            reason?: string;
            /** @enum {string} */
            scope: "address" | "user" | "device";
            value: string;
        };
        BlockBody: {
            /**
             * Format: date-time
             * @description Absent: until it is lifted
             */
            expires_at?: string;
            /** @description Why: for the audit log, up to 500 bytes */
            reason?: string;
            /** @description Required: address, user or device */
            scope?: string;
            /** @description Required: an IP address or network, a user id, a device id */
            value?: string;
        };
        BlockPageOutputBody: {
            /**
             * Format: date-time
             * @description Since when hits_hour is counted
             */
            hits_since?: string;
            items: components["schemas"]["BlockAnswer"][];
            next_cursor?: string;
        };
        BlockPreview: {
            /**
             * Format: int64
             * @description Of those, who were admitted; what they have stays theirs
             */
            admitted: number;
            /** @description What is in force on exactly this already */
            block?: components["schemas"]["BlockAnswer"];
            /**
             * Format: int64
             * @description Who came lately: asked for a pass, or was admitted
             */
            known: number;
            /** @description More came than are remembered: there may be more of each */
            partial: boolean;
            /**
             * Format: int64
             * @description Who came to this node lately and would be hit
             */
            people: number;
            /** @enum {string} */
            scope: "address" | "user" | "device";
            /**
             * Format: date-time
             * @description What lately means: an hour, or since the node began
             */
            since: string;
            /** @description In the one form that is kept */
            value: string;
        };
        BucketAnswer: {
            /** @description Decisions by reason, each claim once */
            counts: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Half of the answers took no longer, in microseconds
             */
            p50_us: number;
            /** Format: int64 */
            p99_us: number;
            /**
             * Format: int64
             * @description Recorded answers that were given again
             */
            replayed?: number;
            /**
             * Format: int64
             * @description UTC ms
             */
            start_ms: number;
            /** Format: int64 */
            width_ms: number;
        };
        CampaignBody: {
            /** @description The terms of kind coupon */
            coupon?: components["schemas"]["CouponBody"];
            /** @description Do not offer it yet: publish it later */
            draft?: boolean;
            eligibility?: components["schemas"]["EligibilityBody"];
            /**
             * Format: date-time
             * @description Required: after starts_at, at most 366 days
             */
            ends_at?: string;
            /** @description The terms of kind goods */
            goods?: components["schemas"]["GoodsBody"];
            /** @description 1 to 64 of A-Z a-z 0-9 . _ -; absent: one is made */
            id?: string;
            /** @description http, https or relative, up to 2048 bytes */
            image_url?: string;
            /** @description Required: goods or coupon */
            kind?: string;
            /** @description Campaigns of one group share each user's limit */
            limit_group?: string;
            /** @description Keep it out of public lists and of the summary */
            load_test?: boolean;
            /**
             * Format: int64
             * @description 1 to 10,000; default 1
             */
            per_user_limit?: number;
            protection?: components["schemas"]["ProtectionBody"];
            /**
             * Format: int64
             * @description Of its gate, 1 to 64; default 1
             */
            shards?: number;
            /**
             * Format: date-time
             * @description Required
             */
            starts_at?: string;
            /** @description Required: up to 200 bytes */
            title?: string;
            /**
             * Format: int64
             * @description Required: 1 to 100,000,000 units
             */
            total?: number;
        };
        CampaignPageOutputBody: {
            items: components["schemas"]["AdminCampaign"][];
            next_cursor?: string;
        };
        CampaignPatchBody: {
            /** @description As a whole, until it has started */
            coupon?: components["schemas"]["CouponBody"];
            /** @description As a whole */
            eligibility?: components["schemas"]["EligibilityBody"];
            /**
             * Format: date-time
             * @description Until it has ended
             */
            ends_at?: string;
            /** @description Until it has started; the unpaid window until its end */
            goods?: components["schemas"]["GoodsBody"];
            image_url?: string;
            /** @description Until it has started */
            load_test?: boolean;
            /**
             * Format: int64
             * @description Once started only up
             */
            per_user_limit?: number;
            protection?: components["schemas"]["ProtectionBody"];
            /**
             * Format: int64
             * @description Claims are BUSY while the gates move
             */
            shards?: number;
            /**
             * Format: date-time
             * @description Until it has started
             */
            starts_at?: string;
            title?: string;
            /**
             * Format: int64
             * @description Cannot be edited: use adjustments
             */
            total?: number;
        };
        CancelInputBody: {
            /** @description For the audit log */
            reason?: string;
        };
        Capabilities: {
            /** @enum {string} */
            admission: "memory" | "ledger" | "redis";
            /** @description What operators call this installation */
            environment?: string;
            /** @description Kinds of jobs */
            jobs: string[];
            /** @enum {string} */
            ledger: "sqlite" | "mysql";
            /** @description Groups of routes that there are, such as dead-letters */
            parts: string[];
            /** @description Where buyers go, as this server knows it */
            public_url?: string;
            /** @description redis, amqp; absent: claims are settled at once */
            queue?: string;
            /** @description The lab's crowd can come */
            rehearsals: boolean;
            /** @description Payments are a sandbox: nobody pays with money */
            sandbox: boolean;
            version: string;
        };
        ClaimPageOutputBody: {
            items: components["schemas"]["AdminClaim"][];
            next_cursor?: string;
        };
        CloneBody: {
            /**
             * Format: date-time
             * @description Default: as long as the original
             */
            ends_at?: string;
            /** @description One is made where it is absent */
            id?: string;
            /**
             * Format: date-time
             * @description Default: in an hour
             */
            starts_at?: string;
            title?: string;
            /** Format: int64 */
            total?: number;
        };
        Cluster: {
            /**
             * Format: int64
             * @description Different users; about, above 64
             */
            accounts: number;
            /**
             * Format: int64
             * @description At most
             */
            claims: number;
            /** Format: int64 */
            devices?: number;
            /** @description The device, the subnet, or the subnet with its moment */
            key: string;
            /** @enum {string} */
            kind: "device" | "subnet" | "timing";
            /** Format: int64 */
            units: number;
            why: string;
        };
        CouponBody: {
            /** @description ISO 4217; required where an amount is given */
            currency?: string;
            /**
             * Format: int64
             * @description For percent_off and exchange
             */
            max_discount_minor?: number;
            /** @description Absent: every merchant */
            merchant_ids?: string[];
            /** Format: int64 */
            min_spend_minor?: number;
            /** @description amount_off, percent_off or exchange */
            type?: string;
            /**
             * Format: int64
             * @description From the claim, 1 to 3660
             */
            valid_days?: number;
            /** Format: date-time */
            valid_from?: string;
            /** Format: date-time */
            valid_until?: string;
            /**
             * Format: int64
             * @description Minor units, or 1 to 100 percent
             */
            value?: number;
        };
        DeadLetterAnswer: {
            campaign_id?: string;
            /** @description Absent where the message cannot be read */
            claim_id?: string;
            /** Format: date-time */
            claimed_at?: string;
            /** Format: int64 */
            epoch?: number;
            /** @description Of the last try */
            error: string;
            /**
             * Format: date-time
             * @description When it failed first
             */
            first_at: string;
            /** Format: int64 */
            id: number;
            /**
             * Format: date-time
             * @description When it failed last
             */
            last_at: string;
            /** Format: int64 */
            quantity?: number;
            /** @description The message as it came, base64; of one letter only */
            raw?: string;
            request_id?: string;
            /** @enum {string} */
            source?: "claim" | "grant";
            /** @enum {string} */
            state: "kept" | "replayed" | "discarded";
            /** Format: int64 */
            tries: number;
            user_id?: string;
        };
        DeadLetterBody: {
            /**
             * Format: date-time
             * @description Required without ids; what failed later is left
             */
            as_of?: string;
            /** @description Only of this campaign */
            campaign_id?: string;
            /** @description These letters, at most 500 */
            ids?: number[];
            /** @description Why: for the audit log */
            reason?: string;
            /** @description Only of this user */
            user_id?: string;
        };
        DeadLetterPageOutputBody: {
            /**
             * Format: date-time
             * @description Name it in a bulk that means what is listed
             */
            as_of: string;
            items: components["schemas"]["DeadLetterAnswer"][];
            next_cursor?: string;
        };
        DeadLetterRun: {
            /** Format: date-time */
            as_of: string;
            /**
             * Format: int64
             * @description Letters that were replayed or discarded
             */
            done: number;
            /**
             * Format: int64
             * @description Of those: messages that still cannot be read, and are kept again
             */
            failed: number;
            /** @description Others are left: make the same call again */
            more: boolean;
        };
        DeskRedeemInputBody: {
            /**
             * Format: int64
             * @description What the purchase costs
             */
            amount_minor: number;
            /** @description In whose name */
            merchant_id: string;
            /** @description For the audit log */
            reason?: string;
            /** @description Names the redemption for good */
            reference: string;
        };
        DeskReverseInputBody: {
            /** @description In whose name it was redeemed */
            merchant_id: string;
            /** @description For the audit log */
            reason?: string;
            /** @description That of the redemption */
            reference: string;
        };
        DistinctTotal: {
            /** Format: int64 */
            count: number;
            /**
             * Format: double
             * @description Standard error as a share of the count; 0: exact
             */
            error: number;
            /** @enum {string} */
            kind: "user" | "device" | "address" | "subnet";
        };
        DriftAnswer: {
            /** @description What the remedy would make of it */
            after?: components["schemas"]["SidesAnswer"];
            /** @description The remedy touches this claim and nothing else: see …/repair */
            alone: boolean;
            /** @description What was seen of the claim; absent for sums */
            before?: components["schemas"]["SidesAnswer"];
            /** @description Absent where it is about sums */
            claim_id?: string;
            detail: string;
            /** @enum {string} */
            kind: "unknown_claim" | "missing_claim" | "ended_claim" | "quantity" | "sum" | "counters" | "total" | "stuck";
            /**
             * @description Absent: none
             * @enum {string}
             */
            remedy?: "take" | "release" | "settled" | "settle" | "rearm";
            /** @description What was done; absent where nothing was, or could be */
            repair?: string;
            /** @description Names what was seen: give it back to have this repaired */
            seen?: string;
            /** Format: int64 */
            units: number;
        };
        EligibilityBody: {
            /** @description Only users that are uploaded for the campaign */
            audience?: boolean;
            /** @description Each named token claim must have one of the values */
            claims?: {
                [key: string]: string[] | null;
            };
        };
        ErrorDetail: {
            /** @description Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id' */
            location?: string;
            /** @description Error message text */
            message?: string;
            /** @description The value at the given location */
            value?: unknown;
        };
        ErrorModel: {
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type: string;
        };
        EventAnswer: {
            /** Format: date-time */
            at: string;
            campaign_id?: string;
            data?: unknown;
            /** @description Stable; ask for what comes after it */
            id: string;
            /** @description The id of what changed */
            subject?: string;
            /** @description Such as order.created */
            type: string;
        };
        EventPageOutputBody: {
            items: components["schemas"]["EventAnswer"][];
            /** @description What to give as after next time */
            next: string;
        };
        FieldProblem: {
            /** @example must be at most 2 */
            detail: string;
            /** @example quantity */
            field: string;
        };
        GoodsBody: {
            /** @description ISO 4217; required with a price */
            currency?: string;
            /** @description On a close; default true */
            limit_back_on_close?: boolean;
            /**
             * Format: int64
             * @description In minor units; 0 is paid at once
             */
            price_minor?: number;
            /** @description Up to 128 bytes */
            sku?: string;
            /**
             * Format: int64
             * @description Default 900
             */
            unpaid_window_s?: number;
        };
        GrantAnswer: {
            claim_id?: string;
            /** @description With LIMIT_REACHED: the user's claims */
            claims?: string[] | null;
            /** @description CONFIRMED, a reason, or VALIDATION where a line cannot be right */
            code: string;
            coupon_code?: string;
            /** @description Where the quantity is above 1 */
            coupon_codes?: string[] | null;
            /** @description With VALIDATION: what is wrong with the line */
            detail?: string;
            grant_id: string;
            /**
             * Format: int64
             * @description In a bulk: the number of the line, a header counted
             */
            line?: number;
            order_id?: string;
            /** Format: int64 */
            quantity: number;
            /** @description The recorded answer, given again */
            replayed?: boolean;
            state?: string;
            user_id: string;
        };
        GrantBody: {
            /** @description Required: names the grant for good, 1 to 128 bytes */
            grant_id?: string;
            /**
             * Format: int64
             * @description 1 to the campaign's limit per user; default 1
             */
            quantity?: number;
            /** @description Why: for the audit log */
            reason?: string;
            /** @description Required: 1 to 64 bytes */
            user_id?: string;
        };
        HolderAnswer: {
            /** Format: int64 */
            expired_units: number;
            /**
             * Format: int64
             * @description Unpaid and expired ones
             */
            orders: number;
            /** Format: int64 */
            unpaid_units: number;
            user_id: string;
        };
        HoldingAnswer: {
            /**
             * Format: double
             * @description Of all units of claims
             */
            expired_share: number;
            /**
             * Format: int64
             * @description Units of orders that nobody paid in time
             */
            expired_units: number;
            /** @description Who held most without paying, up to 10 */
            top: components["schemas"]["HolderAnswer"][];
            /**
             * Format: int64
             * @description Unpaid and expired units of the top holders together
             */
            top_units: number;
        };
        IssuedCoupon: {
            /** Format: int64 */
            amount_minor?: number;
            campaign_id: string;
            claim_id: string;
            /** @description Grouped by four for people; dashes, spaces and case do not matter */
            code: string;
            /** Format: date-time */
            created_at: string;
            /** Format: int64 */
            discount_minor?: number;
            /**
             * Format: date-time
             * @description When it expired or was revoked
             */
            ended_at?: string;
            /**
             * Format: int64
             * @description What it still takes of the user's limit
             */
            limit_units: number;
            /**
             * Format: int64
             * @description What it still takes from the stock
             */
            live_units: number;
            /** Format: date-time */
            locked_until?: string;
            /** @description Who locked or redeemed it */
            merchant_id?: string;
            /**
             * Format: int64
             * @description Its number within the claim, from 0
             */
            n: number;
            /** Format: date-time */
            redeemed_at?: string;
            /** @description Of the lock or of the redemption */
            reference?: string;
            request_id?: string;
            /** @enum {string} */
            source: "claim" | "grant";
            /** @enum {string} */
            state: "issued" | "locked" | "redeemed" | "expired" | "revoked";
            user_id: string;
            /** Format: date-time */
            valid_from: string;
            /** Format: date-time */
            valid_until: string;
        };
        JobAnswer: {
            /** @description What was asked for */
            ask?: unknown;
            /** @description The name of the API key */
            author: string;
            /**
             * Format: date-time
             * @description When its node told of it last
             */
            beat_at: string;
            /** @description Somebody wants it to stop */
            cancelling?: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: int64 */
            done: number;
            /** Format: date-time */
            ended_at?: string;
            /** Format: int64 */
            failed: number;
            /** @description Why it failed or stopped, in English */
            fault?: string;
            /** @description What kind: STOPPED, INTERRUPTED, LIST_GONE … */
            fault_code?: string;
            id: string;
            kind: string;
            /** @description That works on it */
            node: string;
            /** @description What it is about, such as campaign/spring */
            object?: string;
            reason?: string;
            /** @description By kind */
            result?: unknown;
            /** @enum {string} */
            state: "running" | "done" | "failed" | "cancelled";
            /**
             * Format: int64
             * @description -1: not known
             */
            total: number;
        };
        JobBody: {
            /**
             * Format: date-time
             * @description Required without ids; what failed later is left
             */
            as_of?: string;
            /** @description Only of this campaign */
            campaign_id?: string;
            /** @description Made by the caller, so that it may ask again */
            id?: string;
            /** @description These dead letters, at most 500 */
            ids?: number[];
            /** @description Required: dead_letters.replay or dead_letters.discard */
            kind?: string;
            /** @description Why: for the audit log */
            reason?: string;
            /** @description Only of this user */
            user_id?: string;
        };
        JobListOutputBody: {
            items: components["schemas"]["JobAnswer"][];
            /**
             * Format: int64
             * @description before_ms of the next page
             */
            next_before_ms?: number;
        };
        KeyAnswer: {
            /** @description All it may; none: what its role may */
            areas?: string[];
            /** Format: date-time */
            created_at: string;
            id: string;
            /** @description The secret: shown this once */
            key?: string;
            /**
             * Format: date-time
             * @description To about a minute; absent: never
             */
            last_used_at?: string;
            merchant_id?: string;
            name: string;
            /** @description Of the secret before, while that is good */
            old_prefix?: string;
            /**
             * Format: date-time
             * @description Until when the secret before is good
             */
            old_until?: string;
            /** @description The first characters, to tell keys apart */
            prefix: string;
            /** @description Only calls that change nothing */
            read_only?: boolean;
            /** Format: date-time */
            revoked_at?: string;
            /** @enum {string} */
            role: "viewer" | "support" | "operator" | "merchant" | "admin";
            /**
             * Format: date-time
             * @description When it was given the secret that it has
             */
            rotated_at?: string;
            /** @description In force, and used by nobody for 90 days */
            unused?: boolean;
        };
        KeyBody: {
            /** @description Tags such as dead-letters; none: all */
            areas?: string[];
            /** @description Required for role merchant */
            merchant_id?: string;
            /** @description Required: up to 100 bytes, as the audit log will show it */
            name?: string;
            /** @description Only calls that change nothing (GET); not for merchants */
            read_only?: boolean;
            /** @description Required: viewer, support, operator, merchant or admin */
            role?: string;
        };
        KeyListOutputBody: {
            items: components["schemas"]["KeyAnswer"][];
        };
        LevelBody: {
            /**
             * @description What is logged: this and everything above
             * @enum {string}
             */
            level: "debug" | "info" | "warn" | "error";
        };
        LinkAnswer: {
            /** @description Whose key made it */
            author: string;
            campaign_id: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            note?: string;
            /** @description The link, behind the console's address. Shown this once */
            path?: string;
        };
        LinkBody: {
            /**
             * Format: int64
             * @description How long it works: 3600 to 7776000, an hour to 90 days; absent: 7 days
             */
            life_s?: number;
            /** @description For whom it is: up to 100 bytes, shown in the list of links */
            note?: string;
            /** @description Why: for the audit log */
            reason?: string;
        };
        LinkListOutputBody: {
            items: components["schemas"]["LinkAnswer"][];
        };
        ListChangeAnswer: {
            /** @description Absent for a new entry */
            before?: components["schemas"]["BlockAnswer"];
            entry: components["schemas"]["BlockAnswer"];
            /** Format: int64 */
            line: number;
        };
        ListErrorAnswer: {
            detail: string;
            field: string;
            /** Format: int64 */
            line: number;
        };
        ListImportAnswer: {
            /** Format: int64 */
            added: number;
            /** @description False in a dry run, and where a line has a fault */
            applied: boolean;
            /** Format: int64 */
            changed: number;
            /** @description The first 1,000 */
            changes: components["schemas"]["ListChangeAnswer"][];
            dry_run: boolean;
            /** @description Of the first lines with a fault, up to 100 */
            errors: components["schemas"]["ListErrorAnswer"][];
            /**
             * Format: int64
             * @description Lines with a fault
             */
            faults: number;
            /** Format: int64 */
            rows: number;
            /**
             * Format: int64
             * @description Entries that are there as they stand
             */
            same: number;
        };
        ListOutputAdminOrderBody: {
            items: components["schemas"]["AdminOrder"][];
            next_cursor?: string;
        };
        ListOutputAdminPaymentBody: {
            items: components["schemas"]["AdminPayment"][];
            next_cursor?: string;
        };
        ListOutputIssuedCouponBody: {
            items: components["schemas"]["IssuedCoupon"][];
            next_cursor?: string;
        };
        LiveAnswer: {
            /** Format: int64 */
            admitted: number;
            /** Format: int64 */
            as_of_ms: number;
            /** Format: int64 */
            available: number;
            backlog: components["schemas"]["LiveBacklog"];
            /** @description Of all nodes, others up to 3 s late; may repeat */
            buckets: components["schemas"]["BucketAnswer"][];
            checks: components["schemas"]["LiveChecks"];
            /** @description By reason */
            decisions: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Decisions since the campaign was made, replays left out
             */
            entered: number;
            /**
             * Format: int64
             * @description UNAVAILABLE in the last five seconds
             */
            failing: number;
            health: components["schemas"]["LiveHealth"];
            /** Format: int64 */
            held: number;
            /** @description There are more buckets: ask again at once */
            more?: boolean;
            /**
             * Format: int64
             * @description What to give as since next time
             */
            next_since_ms: number;
            /** @description Why it is paused or frozen */
            note?: string;
            /**
             * Format: int64
             * @description Of the last five seconds
             */
            p50_us: number;
            /** Format: int64 */
            p99_us: number;
            /** @description Where the campaign asks for passes */
            passes?: components["schemas"]["LivePasses"];
            /** @description trouble, stopped, paused, degraded, before, armed, live … */
            phase: string;
            /** Format: int64 */
            queued: number;
            rate: components["schemas"]["LiveRate"];
            /** Format: int64 */
            replayed?: number;
            /** Format: int64 */
            revision: number;
            /** Format: int64 */
            sold: number;
            /** Format: int64 */
            sold_out_at_ms?: number;
            state: string;
            /** @description Set for server or campaign */
            switches?: components["schemas"]["LiveSwitch"][];
            /**
             * Format: int64
             * @description available + queued + held + sold, always
             */
            total: number;
            /** @description Of goods */
            unpaid?: components["schemas"]["LiveUnpaid"];
            /** @description Before the start: pages open in the last minute */
            waiting?: components["schemas"]["LiveWaiting"];
        };
        LiveBacklog: {
            /**
             * Format: int64
             * @description Admitted and not settled yet, in units
             */
            claims: number;
            /**
             * Format: int64
             * @description When it is empty, at this pace
             */
            drain_ms?: number;
            /**
             * Format: int64
             * @description Age of the queue's oldest message; absent: nothing waits
             */
            oldest_ms?: number;
            /**
             * Format: int64
             * @description Units settled a second
             */
            per_s: number;
        };
        LiveChecks: {
            /** Format: int64 */
            drift: number;
            /** @description The parts added up by themselves at the last measure */
            exact: boolean;
            /**
             * Format: int64
             * @description When they did last
             */
            exact_at_ms?: number;
            /**
             * Format: int64
             * @description By how many units they did not: on their way, if it does not last
             */
            off?: number;
            /** @description The last count of all rows found nothing */
            ok: boolean;
            /** Format: int64 */
            over_limit: number;
            /** Format: int64 */
            oversold: number;
            /**
             * Format: int64
             * @description When that was; absent: not yet
             */
            verified_at_ms?: number;
        };
        LiveHealth: {
            /**
             * Format: int64
             * @description Nodes
             */
            alive: number;
            /** Format: int64 */
            dead: number;
            /**
             * Format: int64
             * @description -1: not known
             */
            dead_letters: number;
            /**
             * Format: int64
             * @description Nodes with the newest settings
             */
            in_force: number;
            /** @description ledger, redis, broker, payments: up, down, marked_down */
            parts: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description The largest of a node's clock
             */
            skew_ms: number;
        };
        LivePasses: {
            /**
             * Format: int64
             * @description By the nodes that live, since each began
             */
            issued: number;
            /** Format: int64 */
            per_s: number;
        };
        LiveRate: {
            /**
             * Format: int64
             * @description Which second that was
             */
            at_ms: number;
            /**
             * Format: int64
             * @description Decisions in the last whole second
             */
            now: number;
            /** Format: int64 */
            peak: number;
            /** Format: int64 */
            peak_at_ms?: number;
        };
        LiveSwitch: {
            by?: string;
            /** @description For this campaign only */
            campaign?: boolean;
            name: string;
            reason?: string;
            /** Format: int64 */
            since_ms: number;
            /** Format: double */
            value: number;
        };
        LiveUnpaid: {
            /** Format: int64 */
            at_ms?: number;
            /**
             * Format: int64
             * @description Units that fall due within a minute
             */
            in_60s: number;
            /**
             * Format: int64
             * @description When the first falls due
             */
            next_at_ms?: number;
            /** Format: int64 */
            orders: number;
            /** @description Payments are marked down: nothing falls due */
            stopped?: boolean;
            /** Format: int64 */
            units: number;
            /** @description [UTC ms, units], of ten seconds each, the next twelve */
            waves?: (number[] | null)[] | null;
        };
        LiveWaiting: {
            /**
             * Format: int64
             * @description About: each open page of buyers speaks once a minute, to any node
             */
            pages: number;
        };
        LookupOutputBody: {
            items: components["schemas"]["TimelineEntry"][];
        };
        MoneyAnswer: {
            currency?: string;
            /** Format: int64 */
            discount_minor?: number;
            /**
             * Format: int64
             * @description Orders that were paid
             */
            paid: number;
            /** Format: int64 */
            paid_minor: number;
            /**
             * Format: double
             * @description Of the claims that came to be
             */
            paid_share: number;
            /**
             * Format: int64
             * @description Orders whose money came late or twice, and has not gone back
             */
            refund_due: number;
            /** Format: int64 */
            refund_due_minor: number;
            /** Format: int64 */
            refunded: number;
            /** Format: int64 */
            refunded_minor: number;
            /**
             * Format: int64
             * @description Of redeemed coupons
             */
            spend_minor?: number;
        };
        NeedAnswer: {
            by?: string;
            campaign_id?: string;
            /** Format: int64 */
            count?: number;
            detail: string;
            /** @description Such as frozen, drift, switch, part_down, dead_letters, refund_due, ending */
            kind: string;
            /** Format: int64 */
            since_ms?: number;
            /** @description Of the campaign */
            title?: string;
            /** @enum {string} */
            urgency: "act" | "look";
        };
        NodeAnswer: {
            /** @description Of its operators' listener */
            addr: string;
            /**
             * Format: int64
             * @description Since its last heartbeat
             */
            age_ms: number;
            /** @description Its last heartbeat is less than 5 s old */
            alive: boolean;
            /** @description Of its way to Redis */
            breaker?: components["schemas"]["NodeBreaker"];
            /** @description By campaign that runs or is about to: the epoch it admits in */
            epochs?: {
                [key: string]: number;
            };
            /** @description New with each start of the node */
            id: string;
            /** @description No node has later settings in force */
            in_force: boolean;
            name: string;
            /** @description The node that answers */
            self: boolean;
            /**
             * Format: int64
             * @description The revision of the settings that are in force on it
             */
            settings: number;
            /**
             * Format: int64
             * @description Its clock less the ledger's
             */
            skew_ms: number;
            /** Format: date-time */
            started_at: string;
            version: string;
        };
        NodeBreaker: {
            /** @description Those for which it does not ask Redis now */
            campaigns: string[];
            open: boolean;
        };
        NodeListOutputBody: {
            /** Format: int64 */
            alive: number;
            items: components["schemas"]["NodeAnswer"][];
        };
        OverviewAnswer: {
            /** Format: int64 */
            as_of_ms: number;
            health: components["schemas"]["LiveHealth"];
            /** @description Open now, at most 20 */
            live: components["schemas"]["SaleAnswer"][];
            /** @description What needs a person, the most urgent first */
            needs: components["schemas"]["NeedAnswer"][];
            /** @description The next to open */
            next?: components["schemas"]["SaleAnswer"];
        };
        PassKeyAnswer: {
            /**
             * Format: date-time
             * @description From when on it signs
             */
            active_at: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: int64
             * @description 1 is the first; it stands in base 36 in each pass
             */
            seq: number;
        };
        PassKeyBody: {
            /** @description Why: for the audit log */
            reason?: string;
            /** @description Believe no older key any more: every pass is void, buyers get new ones */
            revoke?: boolean;
        };
        PassKeyListOutputBody: {
            items: components["schemas"]["PassKeyAnswer"][];
        };
        PreflightAnswer: {
            /** Format: date-time */
            at: string;
            author: string;
            checks: components["schemas"]["PreflightCheck"][];
            /**
             * Format: int64
             * @description Checks that are a go
             */
            go: number;
            /**
             * Format: int64
             * @description Checks of parts that there are
             */
            of: number;
            /** @description No check is a no-go, and none is unknown */
            ok: boolean;
            /** @description Of who signed */
            reason?: string;
            /**
             * Format: int64
             * @description Its number, to sign it by
             */
            run: number;
            /** Format: date-time */
            signed_at?: string;
            signed_by?: string;
        };
        PreflightCheck: {
            /** @description What the sentence is filled with: strings and numbers */
            args?: {
                [key: string]: unknown;
            };
            /**
             * @description Names the detail's sentence; runs of old have none
             * @enum {string}
             */
            code?: "alarms_never" | "alarms_read" | "alarms_silent" | "backlog_letters" | "backlog_none" | "backlog_old" | "backlog_queued" | "blocklist_in_force" | "blocklist_unknown" | "clocks_apart" | "clocks_one" | "clocks_together" | "nodes_agree" | "nodes_behind" | "nodes_part_down" | "passes_given" | "passes_no_challenge" | "passes_no_key" | "passes_no_service" | "passes_not_asked" | "payments_down" | "payments_none" | "payments_sandbox" | "payments_taken" | "preheated_differs" | "preheated_none" | "preheated_same" | "rehearsed_failed" | "rehearsed_none" | "rehearsed_rate" | "rehearsed_slow" | "rehearsed_unreadable" | "schedule_not_offered" | "schedule_open" | "schedule_opens" | "verified_drift" | "verified_sum" | "verified_unknown";
            /** @description In English */
            detail: string;
            name: string;
            /** @enum {string} */
            state: "go" | "no_go" | "unknown" | "absent";
        };
        PreheatAnswer: {
            armed: boolean;
            /** Format: int64 */
            took_ms: number;
            verification: components["schemas"]["VerificationBody"];
        };
        Problem: {
            /** @description With UNAVAILABLE: the path that tells the outcome */
            ask?: string;
            /** @description With UNAVAILABLE: the claim whose outcome is not known */
            claim_id?: string;
            /**
             * @description Stable; what a program should look at
             * @example VALIDATION
             */
            code: string;
            /** @description What exactly is wrong, in English */
            detail?: string;
            /** @description The fields at fault */
            errors?: components["schemas"]["FieldProblem"][] | null;
            /** @description What to tell support */
            request_id?: string;
            /**
             * Format: int64
             * @description When to try again, in milliseconds
             */
            retry_after_ms?: number;
            /**
             * Format: int64
             * @description The HTTP status
             */
            status: number;
            /** @description A sentence for people, in the language asked for (en or zh-CN) */
            title: string;
            /**
             * @description The code as a URN
             * @example urn:sluice:problem:VALIDATION
             */
            type: string;
        };
        ProtectionBody: {
            /** @description pow, slider, image or siteverify */
            challenge?: string;
            /**
             * Format: double
             * @description Claims a second to admission
             */
            max_rate?: number;
            /** @description off, adaptive or always */
            pass?: string;
            /**
             * Format: double
             * @description A second, up to 1,000
             */
            per_user_rate?: number;
            /** @description Claims have to be signed */
            signature?: boolean;
            /**
             * Format: int64
             * @description Spread the opening, 0 to 60 s
             */
            spread_s?: number;
        };
        RearmBody: {
            /** @description Why: for the audit log */
            reason?: string;
            /**
             * Format: int64
             * @description From this epoch on; absent: as many as before
             */
            shards?: number;
        };
        RearmOutputBody: {
            campaign_id: string;
            /**
             * Format: int64
             * @description That is armed now
             */
            epoch: number;
        };
        ReasonBody: {
            /** @description Why: for the audit log */
            reason?: string;
        };
        ReasonTotal: {
            /** Format: int64 */
            count: number;
            reason: string;
            /** Format: int64 */
            replayed?: number;
            /**
             * Format: double
             * @description 0 to 1
             */
            share: number;
        };
        ReconcileBody: {
            campaign_id: string;
            /** @description Compare and change nothing: no repair, no freeze */
            dry_run?: boolean;
            /** @description Why: for the audit log */
            reason?: string;
        };
        RedemptionBody: {
            /** Format: int64 */
            amount_minor: number;
            /** Format: date-time */
            at: string;
            campaign_id: string;
            code: string;
            currency: string;
            /**
             * Format: int64
             * @description What it takes off; never above amount_minor
             */
            discount_minor: number;
            /** Format: date-time */
            locked_until?: string;
            merchant_id: string;
            reference: string;
            /** @description The recorded answer, given again */
            replayed: boolean;
            /**
             * @description Of the coupon, now
             * @enum {string}
             */
            state: "issued" | "locked" | "redeemed" | "expired" | "revoked";
        };
        RefundInputBody: {
            /** @description Only money that came late or twice; never the order itself */
            extra_only?: boolean;
            /** @description The user may buy again within the limit */
            limit_back?: boolean;
            /** @description For the audit log */
            reason?: string;
            /** @description The units return to the stock */
            unit_back?: boolean;
        };
        RefusalTops: {
            reason: string;
            tops: components["schemas"]["TopList"][];
        };
        RehearsalBody: {
            /**
             * Format: int64
             * @description 1 to 20000; default 2000
             */
            buyers?: number;
            /** @description Of the job, made by the caller, so that it may ask again */
            id?: string;
            /** @description Why: for the audit log */
            reason?: string;
            /**
             * Format: double
             * @description Over how long they come, up to 60; default 5
             */
            seconds?: number;
        };
        RepairBody: {
            /** @description Of the difference that the run found */
            claim_id: string;
            /** @description Why: for the audit log */
            reason?: string;
            /** @description As the run gives it */
            seen: string;
        };
        RepairOutputBody: {
            /** @description As it was read when the repair was done */
            after: components["schemas"]["SidesAnswer"];
            /** @description When it was compared once more */
            before: components["schemas"]["SidesAnswer"];
            /** @description The repair, on record as a run of its own */
            run: components["schemas"]["RunAnswer"];
        };
        ReportAnswer: {
            /** Format: date-time */
            as_of: string;
            buckets: components["schemas"]["BucketAnswer"][];
            campaign: components["schemas"]["AdminCampaign"];
            /** @description By reason, over all buckets */
            decisions: {
                [key: string]: number;
            };
            holding: components["schemas"]["HoldingAnswer"];
            /** @description Marked as a load test */
            load_test: boolean;
            money: components["schemas"]["MoneyAnswer"];
            /** Format: int64 */
            p50_us: number;
            /** Format: int64 */
            p99_us: number;
            /** Format: int64 */
            replayed: number;
            rows: components["schemas"]["RowsAnswer"];
            /**
             * Format: int64
             * @description From the start to the last unit, where it sold out
             */
            sell_out_ms?: number;
            verification: components["schemas"]["VerificationBody"];
        };
        RevokeInputBody: {
            /** @description The user may claim again within the limit */
            limit_back?: boolean;
            /** @description For the audit log */
            reason?: string;
            /** @description The unit returns to the stock */
            unit_back?: boolean;
        };
        RiskFiredAnswer: {
            /** @description Such as block 15m; in a dry run what would have been done */
            action: string;
            /** Format: date-time */
            at: string;
            /** @description Of the claim that made it fire */
            campaign_id: string;
            /** @description The rule is one of that campaign */
            campaign_only: boolean;
            /**
             * Format: int64
             * @description Claims it applied to on that node
             */
            count: number;
            /** @description The reference that a blocked buyer is shown */
            id: string;
            /** Format: date-time */
            lifted_at?: string;
            lifted_by?: string;
            /** @enum {string} */
            mode: "dry_run" | "on";
            node: string;
            /** Format: int64 */
            revision: number;
            rule: string;
            /** @description Each condition with what was counted */
            saw: string;
            /** @enum {string} */
            scope: "account" | "device" | "address" | "subnet";
            /**
             * Format: date-time
             * @description The end of a block; of other actions, until when this record counts
             */
            until: string;
            value: string;
        };
        RiskFiredPageOutputBody: {
            items: components["schemas"]["RiskFiredAnswer"][];
            next_cursor?: string;
        };
        RiskRuleAnswer: {
            author?: string;
            campaign_id?: string;
            /** Format: date-time */
            created_at?: string;
            id: string;
            /** @enum {string} */
            mode: "off" | "dry_run" | "on";
            note?: string;
            /**
             * Format: int64
             * @description 0 for a rule of the configuration file
             */
            revision: number;
            rule: string;
            /** @enum {string} */
            source: "api" | "file";
            /** Format: date-time */
            updated_at?: string;
        };
        RiskRuleBody: {
            /** @description Absent: all campaigns */
            campaign_id?: string;
            /** @description off, dry_run (the default: counts and records only) or on */
            mode?: string;
            /** @description Up to 500 bytes */
            note?: string;
            /**
             * Format: int64
             * @description The revision that is changed; absent: whatever is there
             */
            revision?: number;
            /** @description Required: such as accounts per device > 5 in 10m -> block 15m */
            rule?: string;
        };
        RiskRulesOutputBody: {
            items: components["schemas"]["RiskRuleAnswer"][];
        };
        RotateBody: {
            /**
             * Format: int64
             * @description The old one is good so long; default 86400
             */
            grace_s?: number;
            /** @description Why: for the audit log */
            reason?: string;
            /** @description Made by the caller, who may then ask again */
            rotation_id?: string;
        };
        RowsAnswer: {
            /**
             * Format: int64
             * @description Claims that came to be
             */
            claims: number;
            /** @description By reason */
            closes?: {
                [key: string]: number;
            };
            /** @description By state */
            coupons?: {
                [key: string]: number;
            };
            /** Format: date-time */
            first_unit_at?: string;
            /**
             * Format: int64
             * @description Of these, issued by hand
             */
            grants: number;
            /** Format: int64 */
            held: number;
            /** Format: date-time */
            last_unit_at?: string;
            /** @description By state */
            orders?: {
                [key: string]: number;
            };
            /** Format: int64 */
            rejected: number;
            /** Format: int64 */
            sold: number;
            /** Format: int64 */
            units: number;
        };
        RuleTotal: {
            /** Format: int64 */
            blocked: number;
            /** Format: int64 */
            challenged: number;
            /**
             * Format: int64
             * @description On which it spoke
             */
            decisions: number;
            rule: string;
            /** Format: int64 */
            slowed: number;
            /**
             * Format: int64
             * @description That went to buyers of whom it spoke
             */
            units: number;
        };
        RunAnswer: {
            /**
             * Format: int64
             * @description Over all shards
             */
            available: number;
            campaign_id: string;
            /**
             * Format: int64
             * @description Compared one by one
             */
            claims: number;
            /** Format: int64 */
            differences: number;
            /**
             * Format: int64
             * @description Units that differed, repaired or not
             */
            drift: number;
            /** Format: int64 */
            epoch: number;
            /** @description The comparison itself failed: nothing is proved */
            error?: string;
            /** @description In a list the first 20 of each run */
            found: components["schemas"]["DriftAnswer"][];
            /** Format: int64 */
            held: number;
            /** Format: int64 */
            id: number;
            /**
             * Format: int64
             * @description On their way between shards
             */
            in_transfer: number;
            /**
             * @description one: of one difference, without sums
             * @enum {string}
             */
            mode: "repairs" | "dry_run" | "one";
            /** @description Every unit is where it has to be, or was brought there */
            ok: boolean;
            /**
             * Format: int64
             * @description Admitted by the gate and not in the ledger yet, or on their way back
             */
            queued: number;
            /** Format: int64 */
            sold: number;
            /** Format: date-time */
            started_at: string;
            /** Format: int64 */
            took_ms: number;
            /**
             * Format: int64
             * @description = available + in_transfer + queued + held + sold
             */
            total: number;
        };
        RunPageOutputBody: {
            items: components["schemas"]["RunAnswer"][];
            next_cursor?: string;
        };
        SaleAnswer: {
            /** Format: int64 */
            available: number;
            /** Format: date-time */
            ends_at: string;
            /** Format: int64 */
            held: number;
            id: string;
            kind: string;
            load_test?: boolean;
            /** Format: int64 */
            queued: number;
            /** Format: int64 */
            sold: number;
            /** Format: date-time */
            starts_at: string;
            state: string;
            title: string;
            /** Format: int64 */
            total: number;
        };
        SecondTotals: {
            counts: {
                [key: string]: number;
            };
            /** Format: int64 */
            replayed?: number;
            /**
             * Format: int64
             * @description UTC ms
             */
            start_ms: number;
        };
        SessionAnswer: {
            addr?: string;
            /** @description What the browser calls itself */
            agent?: string;
            /** @description Of one's own: its key's scope; none: all */
            areas?: string[];
            /** Format: date-time */
            created_at: string;
            /** @description Header X-CSRF-Token of every call but GET and HEAD */
            csrf_token?: string;
            /** @description The session that asks */
            current: boolean;
            /** Format: date-time */
            expires_at: string;
            id: string;
            key_id: string;
            /** @description Of the API key that opened it */
            name: string;
            /** @description Of one's own: its key's scope */
            read_only?: boolean;
            /** @enum {string} */
            role: "viewer" | "support" | "operator" | "admin";
        };
        SessionListOutputBody: {
            items: components["schemas"]["SessionAnswer"][];
        };
        Setting: {
            key: string;
            /** @description Where it came from */
            source: string;
            value: string;
        };
        SettingsOutputBody: {
            items: components["schemas"]["Setting"][];
        };
        ShardAnswer: {
            /** @description False: there is no gate, and all figures are 0 */
            armed: boolean;
            /**
             * Format: int64
             * @description Units that can be admitted here, those given back among them
             */
            available: number;
            /**
             * Format: int64
             * @description Messages that wait to be carried to the ledger
             */
            backlog: number;
            /** Format: int64 */
            epoch: number;
            /**
             * Format: int64
             * @description Units of live claims, queued ones among them
             */
            live: number;
            /** @description It admits; false between two epochs */
            open: boolean;
            /**
             * Format: int64
             * @description Units on their way to another shard
             */
            out: number;
            /**
             * Format: int64
             * @description Units admitted here and not in the ledger yet
             */
            queued: number;
            /**
             * Format: int64
             * @description Of the total that it has heard of
             */
            revision: number;
            /**
             * Format: int64
             * @description From 0
             */
            shard: number;
        };
        ShardsOutputBody: {
            /** Format: date-time */
            at: string;
            /** @description Shards are missing: they did not answer */
            error?: string;
            /** @description Empty where stock is not taken in Redis */
            items: components["schemas"]["ShardAnswer"][];
        };
        SharedCampaign: {
            /** Format: date-time */
            ends_at: string;
            id: string;
            /** @enum {string} */
            kind: "goods" | "coupon";
            /** Format: date-time */
            starts_at: string;
            /** @enum {string} */
            state: "draft" | "scheduled" | "live" | "paused" | "frozen" | "sold_out" | "ended";
            title: string;
        };
        SharedReport: {
            /** Format: date-time */
            as_of: string;
            buckets: components["schemas"]["BucketAnswer"][];
            campaign: components["schemas"]["SharedCampaign"];
            /** @description By reason, over all buckets */
            decisions: {
                [key: string]: number;
            };
            /**
             * Format: date-time
             * @description Of the link
             */
            expires_at: string;
            /** @description Marked as a load test */
            load_test: boolean;
            money: components["schemas"]["MoneyAnswer"];
            /** Format: int64 */
            p50_us: number;
            /** Format: int64 */
            p99_us: number;
            /** Format: int64 */
            replayed: number;
            rows: components["schemas"]["RowsAnswer"];
            /**
             * Format: int64
             * @description From the start to the last unit, where it sold out
             */
            sell_out_ms?: number;
            verification: components["schemas"]["VerificationBody"];
        };
        SideAnswer: {
            /**
             * Format: int64
             * @description Those that count against the user's limit
             */
            limit_units: number;
            /**
             * @description pending: admitted, not settled
             * @enum {string}
             */
            state: "absent" | "pending" | "live" | "ended";
            /**
             * Format: int64
             * @description Live ones
             */
            units: number;
        };
        SidesAnswer: {
            gate: components["schemas"]["SideAnswer"];
            ledger: components["schemas"]["SideAnswer"];
        };
        SignBody: {
            /** @description Required where a check is not a go */
            reason?: string;
            /**
             * Format: int64
             * @description Required: the run that was looked at
             */
            run?: number;
        };
        SignInBody: {
            /** @description Required: an API key of an operator */
            key?: string;
        };
        SummaryAnswer: {
            /** Format: date-time */
            as_of: string;
            by_state: {
                [key: string]: number;
            };
            /** Format: int64 */
            campaigns: number;
            /** Format: int64 */
            held: number;
            /**
             * Format: int64
             * @description Campaigns that are left out
             */
            load_tests: number;
            /** Format: int64 */
            sold: number;
            /** Format: int64 */
            total: number;
        };
        SwitchBody: {
            /** @description Absent: for the whole server */
            campaign_id?: string;
            /** @description Why: for the audit log */
            reason?: string;
            /**
             * Format: double
             * @description Required: on/off switches take 0 or 1
             */
            value?: number;
        };
        SwitchEntry: {
            /** @description May be set for one campaign */
            campaign: boolean;
            /** @description May be set for the whole server */
            global: boolean;
            /** @enum {string} */
            kind: "on_off" | "value";
            /** Format: double */
            max: number;
            means: string;
            /** Format: double */
            min: number;
            name: string;
            /** @description Where it is set */
            settings: components["schemas"]["SwitchSetting"][];
        };
        SwitchListOutputBody: {
            items: components["schemas"]["SwitchEntry"][];
        };
        SwitchOutputBody: {
            /**
             * Format: double
             * @description The value before; absent where it was not set
             */
            before?: number;
            campaign_id?: string;
            /**
             * Format: int64
             * @description On how many of the nodes it is in force
             */
            in_force: number;
            name: string;
            /** Format: int64 */
            nodes: number;
            set: boolean;
            /** Format: int64 */
            took_ms: number;
            /** Format: double */
            value: number;
        };
        SwitchSetting: {
            /** Format: date-time */
            at: string;
            author?: string;
            /** @description Absent: for the whole server */
            campaign_id?: string;
            reason?: string;
            /**
             * Format: double
             * @description On/off switches: 0 or 1
             */
            value: number;
        };
        TimelineEntry: {
            /** Format: date-time */
            at: string;
            campaign_id?: string;
            data?: unknown;
            subject?: string;
            type: string;
        };
        TopItem: {
            /** Format: int64 */
            count: number;
            /**
             * Format: int64
             * @description The count is too high by at most this
             */
            error?: number;
            key: string;
        };
        TopList: {
            /**
             * Format: int64
             * @description No count is too high by more; 0: all are exact
             */
            error: number;
            items: components["schemas"]["TopItem"][];
            /** @enum {string} */
            kind: "user" | "device" | "address" | "subnet";
        };
        UnitShares: {
            /**
             * Format: int64
             * @description To buyers who had to solve a challenge
             */
            challenged: number;
            /** Format: int64 */
            normal: number;
            /**
             * Format: int64
             * @description To buyers whom a rule slowed down
             */
            slowed: number;
            /**
             * Format: int64
             * @description Promised or confirmed by the gate, each claim once
             */
            total: number;
        };
        UnlockInputBody: {
            /** @description For the audit log */
            reason?: string;
        };
        VerificationBody: {
            /** Format: int64 */
            available: number;
            /** Format: date-time */
            checked_at: string;
            /** Format: int64 */
            drift: number;
            /** Format: int64 */
            held: number;
            ok: boolean;
            /** Format: int64 */
            queued: number;
            /** Format: int64 */
            sold: number;
            /** Format: int64 */
            total: number;
            /** Format: int64 */
            units_over_total: number;
            /** Format: int64 */
            users_over_limit: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "get-allowlist": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                scope?: "address" | "user" | "device";
                /** @description Only the block of exactly this address, network, user or device */
                value?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-allowlist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-allowlist-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-allowlist-import": {
        parameters: {
            query?: {
                /** @description Only say what the import would do */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description What the import came to */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListImportAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-allowlist-import-jobs": {
        parameters: {
            query?: {
                /** @description Of the job, made by the caller, so that it may ask again */
                id?: string;
                /** @description Why: for the audit log */
                reason?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description The job */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-allowlist-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-allowlist-id": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-api-keys-id": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-api-keys-id-rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-audit-log": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                /** @description The id or the name of a key */
                actor?: string;
                /** @description An action, or the beginning of some: campaign.* */
                action?: string;
                /** @description An object, or the beginning of some: switch/* */
                object?: string;
                /** @description Not before this moment */
                from?: string;
                /** @description Before this moment */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-audit-log-csv": {
        parameters: {
            query?: {
                /** @description The id or the name of a key */
                actor?: string;
                /** @description An action, or the beginning of some: campaign.* */
                action?: string;
                /** @description An object, or the beginning of some: switch/* */
                object?: string;
                /** @description Not before this moment */
                from?: string;
                /** @description Before this moment */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description CSV with a header, UTF-8, safe to open in a spreadsheet */
            200: {
                headers: {
                    "Content-Disposition"?: string;
                    "Content-Type"?: string;
                    "Sluice-Cut"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-audit-log-json": {
        parameters: {
            query?: {
                /** @description The id or the name of a key */
                actor?: string;
                /** @description An action, or the beginning of some: campaign.* */
                action?: string;
                /** @description An object, or the beginning of some: switch/* */
                object?: string;
                /** @description Not before this moment */
                from?: string;
                /** @description Before this moment */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Content-Disposition"?: string;
                    "Sluice-Cut"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-blocklist": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                scope?: "address" | "user" | "device";
                /** @description Only the block of exactly this address, network, user or device */
                value?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-blocklist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-blocklist-export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-blocklist-import": {
        parameters: {
            query?: {
                /** @description Only say what the import would do */
                dry_run?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description What the import came to */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListImportAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-blocklist-import-jobs": {
        parameters: {
            query?: {
                /** @description Of the job, made by the caller, so that it may ask again */
                id?: string;
                /** @description Why: for the audit log */
                reason?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description The job */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-blocklist-preview": {
        parameters: {
            query: {
                scope: "address" | "user" | "device";
                value: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockPreview"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-blocklist-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-blocklist-id": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BlockAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                state?: "draft" | "scheduled" | "live" | "paused" | "frozen" | "sold_out" | "ended";
                kind?: "goods" | "coupon";
                /** @description The campaigns that share each user's limit */
                limit_group?: string;
                /** @description Only them; none; all but those that ended */
                load_test?: "true" | "false" | "not_ended";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CampaignBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "patch-campaigns-id": {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag you read: 409 where it has changed since */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CampaignPatchBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-adjustments": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdjustmentBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdjustmentAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-analysis": {
        parameters: {
            query?: {
                /** @description Make it anew where the last one is finished */
                anew?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnalysisJob"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-campaigns-id-audience": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "text/plain": string;
            };
        };
        responses: {
            /** @description What was done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AudienceAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-audience": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "text/plain": string;
            };
        };
        responses: {
            /** @description What was done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AudienceAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-audience-remove": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "text/plain": string;
            };
        };
        responses: {
            /** @description What was done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AudienceAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-clone": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CloneBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-end": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-grants": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-grants-bulk": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            /** @description One line for each grant, then the totals */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-live": {
        parameters: {
            query?: {
                /** @description next_since_ms of the look before, UTC ms; absent: the last buckets */
                since?: number;
                /** @description Of buckets. Absent: as many as fit into 3 KB */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-preflight": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreflightAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-preflight": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreflightAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-preflight-sign-off": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreflightAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-preheat": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreheatAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-publish": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-rearm": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RearmBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RearmOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-rehearsals": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RehearsalBody"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-report": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-report-csv": {
        parameters: {
            query?: {
                /** @description The figures, or the sale by time */
                part?: "summary" | "seconds";
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description CSV with a header, UTF-8, safe to open in a spreadsheet */
            200: {
                headers: {
                    "Content-Disposition"?: string;
                    "Content-Type"?: string;
                    "Sluice-Cut"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-report-links": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-report-links": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-campaigns-id-report-links-link": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-campaigns-id-resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCampaign"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-shards": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShardsOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-campaigns-id-verify": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Capabilities"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-claims": {
        parameters: {
            query?: {
                campaign_id?: string;
                user_id?: string;
                /** @description With campaign_id */
                request_id?: string;
                claim_id?: string;
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-coupons": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                user?: string;
                code?: string;
                /** @description A claim id */
                claim?: string;
                /** @description A request id; quick together with user */
                request?: string;
                campaign?: string;
                state?: "issued" | "locked" | "redeemed" | "expired" | "revoked" | "rejected";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOutputIssuedCouponBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-coupons-code": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedCoupon"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-coupons-code-redeem": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeskRedeemInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedemptionBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-coupons-code-reverse": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeskReverseInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedemptionBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-coupons-code-revoke": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RevokeInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedCoupon"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-coupons-code-unlock": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UnlockInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedCoupon"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-dead-letters": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                state?: "kept" | "replayed" | "discarded" | "all";
                campaign_id?: string;
                user_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-dead-letters-discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadLetterBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterRun"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-dead-letters-replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadLetterBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterRun"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-dead-letters-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-events": {
        parameters: {
            query?: {
                /** @description The id of the last event you have; absent or 0: from the beginning */
                after?: string;
                limit?: number;
                /** @description How long to wait where there is none yet */
                wait_ms?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-jobs": {
        parameters: {
            query?: {
                state?: "running" | "done" | "failed" | "cancelled";
                kind?: string;
                /** @description Such as campaign/spring */
                object?: string;
                /** @description Made before this moment */
                before_ms?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobBody"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-jobs-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-jobs-id-cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-log-level": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LevelBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-log-level": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LevelBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LevelBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-lookup": {
        parameters: {
            query: {
                q: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LookupOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-orders": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                user?: string;
                /** @description An order id */
                order?: string;
                /** @description A claim id */
                claim?: string;
                /** @description A request id; quick together with user */
                request?: string;
                campaign?: string;
                /** @description The reference of a payment */
                payment?: string;
                state?: "unpaid" | "paid" | "closed" | "refunded" | "rejected";
                /** @description Only orders with money to give back */
                refund_due?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOutputAdminOrderBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-orders-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An order id or the id of its claim */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminOrder"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-orders-id-cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An order id or the id of its claim */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminOrder"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-orders-id-refund": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An order id or the id of its claim */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefundInputBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminOrder"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-pass-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PassKeyListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-pass-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PassKeyBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PassKeyAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-payments": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                reference?: string;
                /** @description An order id */
                order?: string;
                result?: "applied" | "refund_due" | "ignored" | "mismatch" | "unknown_order";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOutputAdminPaymentBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-reconcile": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                campaign_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReconcileBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-reconcile-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-reconcile-id-repair": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RepairBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RepairOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskRulesOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-rules-fired": {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the page before */
                cursor?: string;
                /** @description Only that of this reference, as a blocked buyer was shown it */
                id?: string;
                rule?: string;
                scope?: "account" | "device" | "address" | "subnet";
                /** @description Only of exactly this user, device, address or network */
                value?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskFiredPageOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-rules-fired-id-lift": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskFiredAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-rules-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskRuleAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-rules-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RiskRuleBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskRuleAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-rules-id": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RiskRuleAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "post-sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-sessions-current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-sessions-current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-sessions-id": {
        parameters: {
            query?: {
                reason?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-shared-report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedReport"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-shared-report-csv": {
        parameters: {
            query?: {
                /** @description The figures, or the sale by time */
                part?: "summary" | "seconds";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description CSV with a header, UTF-8, safe to open in a spreadsheet */
            200: {
                headers: {
                    "Content-Disposition"?: string;
                    "Content-Type"?: string;
                    "Sluice-Cut"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SummaryAnswer"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "get-switches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwitchListOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "put-switches-name": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwitchBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwitchOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    "delete-switches-name": {
        parameters: {
            query?: {
                campaign_id?: string;
                reason?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwitchOutputBody"];
                };
            };
            /** @description The request is at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server is at fault */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
