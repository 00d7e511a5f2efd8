export interface ProblemKind {
  readonly status: number
  readonly title: string
}

/**
 * Every problem that an endpoint may answer, by its code. The codes are contract: they are never renamed, and no other
 * status is given to one. A feature's error becomes the problem of its own `code` where that stands here; its message
 * is then the problem's detail.
 */
export const PROBLEMS = {
  'request.invalid': { status: 400, title: 'The request cannot be read' },
  'request.unknown_parameter': {
    status: 400,
    title: 'A parameter that the endpoint does not have',
  },
  'request.doubled_parameter': { status: 400, title: 'A parameter is given twice' },
  'request.invalid_parameter': { status: 400, title: 'A parameter is missing or wrong' },
  'request.invalid_body': { status: 400, title: 'The body is missing or wrong' },
  'request.invalid_cursor': { status: 400, title: 'A cursor that is not of this list' },
  'request.key_in_query': { status: 400, title: 'A key does not belong into an address' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.address_too_long': { status: 414, title: 'The address is too long' },
  'request.unsupported_type': {
    status: 415,
    title: 'A type of body that the endpoint does not take',
  },
  'request.unmet_expectation': { status: 417, title: 'An expectation that cannot be met' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'request.no_endpoint': { status: 404, title: 'No such endpoint' },
  'request.no_method': { status: 405, title: 'The endpoint does not have this method' },
  'access.no_key': { status: 401, title: 'A key is needed' },
  'access.mistyped_key': {
    status: 401,
    title: 'The key is not one of ours: its checksum is wrong',
  },
  'access.unknown_key': { status: 401, title: 'The key opens nothing' },
  'access.missing_scope': { status: 403, title: 'The key lacks the scope' },
  'access.resellers_only': { status: 403, title: 'Only a reseller has this' },
  'access.not_local': { status: 403, title: 'Without a key only this machine is answered' },
  'access.too_many_requests': { status: 429, title: 'Too many requests' },
  'watch.duplicate_list': { status: 409, title: 'A watch list of this name is there already' },
  'watch.invalid_rows': { status: 400, title: 'Some watches are wrong; nothing was changed' },
  'watch.unknown_references': {
    status: 404,
    title: 'The watch list lacks some of the references; nothing was changed',
  },
  'watch.reseller_disabled': { status: 403, title: 'The reseller is disabled: no watch may begin' },
  'changes.beyond_head': { status: 400, title: 'A number that the feed has not reached' },
  'routes.no_list': { status: 503, title: 'No list has been accepted yet' },
  'verify.passenger_rule': { status: 400, title: 'The passenger mix breaks a rule' },
  'verify.unknown': { status: 503, title: 'The upstream told nothing of the flight' },
  'access.no_such_key': { status: 404, title: 'There is no such key' },
  'access.scope_not_grantable': { status: 400, title: 'A key of this kind cannot have the scope' },
  'watch.duplicate_reseller': { status: 409, title: 'A reseller of this name is there already' },
  'watch.invalid_reseller_name': { status: 400, title: 'A name that nobody could type again' },
  'watch.unknown_reseller': { status: 404, title: 'There is no such reseller' },
  'sync.run_not_found': { status: 404, title: 'There is no such finished run' },
  'sync.not_held': { status: 409, title: 'The run is not held' },
  'sync.stale_run': { status: 409, title: 'A later list has been accepted' },
  'sync.snapshot_gone': { status: 409, title: 'The list of the run is not kept' },
  'sync.snapshot_damaged': { status: 409, title: 'The kept list of the run is damaged' },
  'sync.busy': { status: 503, title: 'Somebody is at the list; try again' },
  not_found: { status: 404, title: 'There is no such thing' },
  'store.unavailable': { status: 503, title: 'The database is away; try again' },
  internal: { status: 500, title: 'Internal error' },
} as const satisfies Record<string, ProblemKind>

export type ProblemCode = keyof typeof PROBLEMS

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}
