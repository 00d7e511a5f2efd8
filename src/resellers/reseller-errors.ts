import { AppError } from '../platform/base/errors.ts'
import { quote } from '../platform/base/text.ts'
import type { Scope } from '../platform/http/caller.ts'

export class DuplicateResellerError extends AppError {
  override readonly name = 'DuplicateResellerError'
  override readonly code = 'watch.duplicate_reseller'
  override readonly retryable = false

  constructor(reseller: string) {
    super(`there is a reseller named ${quote(reseller)} already`)
  }
}

export class InvalidResellerNameError extends AppError {
  override readonly name = 'InvalidResellerNameError'
  override readonly code = 'watch.invalid_reseller_name'
  override readonly retryable = false

  constructor(reseller: string, fault: string) {
    super(`a reseller's name ${fault}: ${quote(reseller)}`)
  }
}

export class UnknownResellerError extends AppError {
  override readonly name = 'UnknownResellerError'
  override readonly code = 'watch.unknown_reseller'
  override readonly retryable = false

  constructor(reseller: string) {
    super(
      `there is no reseller named ${quote(reseller)}: "bin/farewatch resellers list" shows them`,
    )
  }
}

/** The watches of a disabled reseller can be read, paused and deleted, but none can begin. */
export class ResellerDisabledError extends AppError {
  override readonly name = 'ResellerDisabledError'
  override readonly code = 'watch.reseller_disabled'
  override readonly retryable = false

  constructor(reseller: string) {
    super(`the reseller ${quote(reseller)} is disabled`)
  }
}

export class UnknownKeyError extends AppError {
  override readonly name = 'UnknownKeyError'
  override readonly code = 'access.no_such_key'
  override readonly retryable = false

  constructor(id: number) {
    super(`there is no key ${id}: "bin/farewatch keys list" shows them`)
  }
}

/** A reseller's key may have the scopes read and watch, an operator's key read and operate. */
export class ScopeNotGrantableError extends AppError {
  override readonly name = 'ScopeNotGrantableError'
  override readonly code = 'access.scope_not_grantable'
  override readonly retryable = false

  constructor(scopes: readonly Scope[], grantable: readonly Scope[]) {
    super(`a key of this kind has some of ${grantable.join(', ')}, not ${scopes.join(', ')}`)
  }
}
