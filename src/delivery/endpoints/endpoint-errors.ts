import { AppError } from '../../platform/base/errors.ts'

/** How many endpoints a reseller may have. */
export const MAX_ENDPOINTS = 20

export class TooManyEndpointsError extends AppError {
  override readonly name = 'TooManyEndpointsError'
  override readonly code = 'delivery.too_many_endpoints'
  override readonly retryable = false

  constructor() {
    super(`a reseller may have ${MAX_ENDPOINTS} endpoints: delete or change one of them`)
  }
}

/** How many secrets of an endpoint sign in addition to the present one. */
export const MAX_PREVIOUS_SECRETS = 3

/** A further rotation would end the 24 hours of a former secret early. */
export class TooManyRotationsError extends AppError {
  override readonly name = 'TooManyRotationsError'
  override readonly code = 'delivery.too_many_rotations'
  override readonly retryable = false

  /** @param until when the oldest of the former secrets stops signing. */
  constructor(until: Date) {
    super(
      `${MAX_PREVIOUS_SECRETS} former secrets of the endpoint still sign: rotate again after ${until.toISOString()}`,
    )
  }
}

/** A disabled endpoint receives nothing, so a test event would wait. */
export class EndpointDisabledError extends AppError {
  override readonly name = 'EndpointDisabledError'
  override readonly code = 'delivery.endpoint_disabled'
  override readonly retryable = false

  constructor() {
    super('the endpoint is disabled: enable it first')
  }
}

/** Only webhooks are signed. */
export class UnsignedFormatError extends AppError {
  override readonly name = 'UnsignedFormatError'
  override readonly code = 'delivery.unsigned_format'
  override readonly retryable = false

  constructor(format: string) {
    super(`an endpoint of the format ${format} has no secret: only webhooks are signed`)
  }
}
