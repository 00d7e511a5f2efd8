declare const verified: unique symbol

/**
 * The id of the reseller on whose behalf a request is made. Only the check of a key makes one, so that a query that
 * takes it cannot be handed an id from the request's own path, query or body.
 */
export type ResellerId = number & { readonly [verified]: 'ResellerId' }
