import type { ResellerId } from '../base/reseller-id.ts'

/** What a key may be used for: reading, changing watch lists and webhook endpoints, running the service. */
export const SCOPES = ['read', 'watch', 'operate'] as const
export type Scope = (typeof SCOPES)[number]

interface AnyCaller {
  readonly scopes: readonly Scope[]
  /** Whose requests count together against the rate limit. */
  readonly limitKey: string
  /** Nobody has shown a key: only what runs on this machine is answered, and the answer says so. */
  readonly demo: boolean
}

export interface ResellerCaller extends AnyCaller {
  readonly kind: 'reseller'
  readonly resellerId: ResellerId
}

export interface OperatorCaller extends AnyCaller {
  readonly kind: 'operator'
}

/** On whose behalf a request is made. */
export type Caller = ResellerCaller | OperatorCaller

export type KeyCheck = Caller | 'mistyped' | 'unknown'

/** Who stands behind a request. */
export interface Access {
  /** The caller of a key. A key that was never given, has expired or is revoked is `unknown`, and no more is told. */
  callerOf(key: string): Promise<KeyCheck>
  /** Who asks without a key; undefined where a key is needed. */
  callerWithoutKey(): Promise<Caller | undefined>
}
