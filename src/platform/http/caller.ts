import type { ResellerId } from '../base/reseller-id.ts'

/** `read` reads, `watch` changes watch lists and webhook endpoints, `operate` runs the service. */
export const SCOPES = ['read', 'watch', 'operate'] as const
export type Scope = (typeof SCOPES)[number]

interface AnyCaller {
  readonly scopes: readonly Scope[]
  /** Requests with the same limit key share one rate limit. */
  readonly limitKey: string
  /** The request has no key. Only requests from this machine are answered, and the response says so. */
  readonly demo: boolean
}

export interface ResellerCaller extends AnyCaller {
  readonly kind: 'reseller'
  readonly resellerId: ResellerId
  readonly resellerName: string
}

export interface OperatorCaller extends AnyCaller {
  readonly kind: 'operator'
}

/** The reseller or operator on whose behalf a request is made. */
export type Caller = ResellerCaller | OperatorCaller

export type KeyCheck = Caller | 'mistyped' | 'unknown'

/** Finds the caller of a request. */
export interface Access {
  /** The caller of a key. Keys that never existed, have expired or are revoked are all `unknown`. */
  callerOf(key: string): Promise<KeyCheck>
  /** The caller of requests without a key; undefined if a key is required. */
  callerWithoutKey(): Promise<Caller | undefined>
}
