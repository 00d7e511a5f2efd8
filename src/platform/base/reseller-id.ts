declare const verified: unique symbol

/**
 * The id of the reseller on whose behalf a request is made. Only the check of an API key produces one, so an id from a
 * request's path, query or body cannot be passed to a query that takes this type.
 */
export type ResellerId = number & { readonly [verified]: 'ResellerId' }
