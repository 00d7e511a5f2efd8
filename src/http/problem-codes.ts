export interface ProblemKind {
  readonly status: number
  readonly title: string
}

/**
 * Every problem that an endpoint may answer, by its code. Codes and their statuses are contract and never change.
 * The codes of AppErrors that reach a client are listed here too: such an error is answered as the problem of its
 * code, with its message as the detail.
 */
export const PROBLEMS = {
  'request.invalid': { status: 400, title: 'The request is malformed' },
  'request.unknown_parameter': { status: 400, title: 'The endpoint has no such parameter' },
  'request.doubled_parameter': { status: 400, title: 'A parameter is given more than once' },
  'request.invalid_parameter': { status: 400, title: 'A parameter is missing or invalid' },
  'request.invalid_body': { status: 400, title: 'The body is missing or invalid' },
  'request.invalid_cursor': { status: 400, title: 'The cursor does not belong to this list' },
  'request.key_in_query': { status: 400, title: 'A key must not be sent in the address' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.address_too_long': { status: 414, title: 'The address is too long' },
  'request.unsupported_type': { status: 415, title: 'The type of the body is not supported' },
  'request.unmet_expectation': { status: 417, title: 'The expectation cannot be met' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'request.no_endpoint': { status: 404, title: 'There is no such endpoint' },
  'request.no_method': { status: 405, title: 'The endpoint does not support this method' },
  'access.no_key': { status: 401, title: 'A key is required' },
  'access.mistyped_key': { status: 401, title: 'The key is malformed: its checksum is wrong' },
  'access.unknown_key': { status: 401, title: 'The key is unknown, expired or revoked' },
  'access.missing_scope': { status: 403, title: 'The key lacks the required scope' },
  'access.resellers_only': { status: 403, title: 'Only resellers may use the endpoint' },
  'access.not_local': {
    status: 403,
    title: 'Requests without a key are answered only on the machine itself',
  },
  'access.too_many_requests': { status: 429, title: 'Too many requests' },
  'watch.duplicate_list': { status: 409, title: 'A watch list of this name already exists' },
  'watch.invalid_rows': { status: 400, title: 'Some watches are invalid; nothing was changed' },
  'watch.unknown_references': {
    status: 404,
    title: 'The watch list lacks some of the references; nothing was changed',
  },
  'watch.reseller_disabled': {
    status: 403,
    title: 'The reseller is disabled, so no watch can begin',
  },
  'changes.beyond_head': { status: 400, title: 'The number is beyond the end of the feed' },
  'routes.no_list': { status: 503, title: 'No list has been accepted yet' },
  'verify.passenger_rule': { status: 400, title: 'The passenger mix breaks a rule' },
  'verify.unknown': { status: 503, title: 'The upstream gave no usable answer about the fare' },
  'access.no_such_key': { status: 404, title: 'There is no such key' },
  'access.scope_not_grantable': { status: 400, title: 'A key of this kind cannot have the scope' },
  'watch.duplicate_reseller': { status: 409, title: 'A reseller of this name already exists' },
  'watch.invalid_reseller_name': { status: 400, title: 'The name of the reseller is not allowed' },
  'watch.unknown_reseller': { status: 404, title: 'There is no such reseller' },
  'sync.run_not_found': { status: 404, title: 'There is no such finished run' },
  'sync.not_held': { status: 409, title: 'The run is not held' },
  'sync.stale_run': { status: 409, title: 'A later list has been accepted' },
  'sync.snapshot_gone': { status: 409, title: 'The list of the run is no longer stored' },
  'sync.snapshot_damaged': { status: 409, title: 'The stored list of the run is damaged' },
  'sync.busy': { status: 503, title: 'Another process is working on the list; try again' },
  not_found: { status: 404, title: 'There is no such resource' },
  'store.unavailable': { status: 503, title: 'The database is unavailable; try again' },
  internal: { status: 500, title: 'Internal error' },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof PROBLEMS

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}
