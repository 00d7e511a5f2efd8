import { AppError } from '../base/errors.ts'
import type { Scope } from '../http/caller.ts'

export class UnknownKeyError extends AppError {
  override readonly name = 'UnknownKeyError'
  override readonly code = 'access.no_such_key'
  override readonly retryable = false

  constructor(id: number) {
    super(`there is no key ${id}: "farewatch keys list" shows them`)
  }
}

/** A reseller's key reads and watches, an operator's reads and operates. */
export class ScopeNotGrantableError extends AppError {
  override readonly name = 'ScopeNotGrantableError'
  override readonly code = 'access.scope_not_grantable'
  override readonly retryable = false

  constructor(scopes: readonly Scope[], grantable: readonly Scope[]) {
    super(`a key of this kind has some of ${grantable.join(', ')}, not ${scopes.join(', ')}`)
  }
}
