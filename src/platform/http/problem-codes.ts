interface ProblemText {
  readonly status: number
  readonly title: string
  readonly cause: string
  readonly remedy: string
}

const REPEAT_LATER = 'Repeat it after the seconds of `Retry-After`.'
const FREE_QUOTA = 'Wait until the quota has room again, as `detail` says.'
const READ_ON =
  'Continue after `continueAfter` or at `first`, and read the state of what was between.'

/**
 * Every problem that an operation may answer, by its code. Codes and their statuses are contract and never change. 404
 * is `not_found` alone, 429 is about rates alone, and a quota is a 409. The codes of AppErrors that reach a client are
 * listed here too: such an error is answered as the problem of its code, with its message as the detail.
 */
export const PROBLEMS = {
  'request.invalid': {
    status: 400,
    title: 'The request is malformed',
    cause: 'The request breaks a rule of HTTP, or it has no usable Host header.',
    remedy: 'Send it by a library for HTTP.',
  },
  'request.unknown_parameter': {
    status: 400,
    title: 'The operation has no such parameter',
    cause: 'No parameter of the operation has this name.',
    remedy: 'Correct the name, or leave it out.',
  },
  'request.doubled_parameter': {
    status: 400,
    title: 'A parameter is given more than once',
    cause: 'Only a list may be repeated.',
    remedy: 'Send it once.',
  },
  'request.invalid_parameter': {
    status: 400,
    title: 'A parameter is missing or invalid',
    cause: '`parameter` is missing, or has another form.',
    remedy: 'Send the form that `detail` names.',
  },
  'request.invalid_body': {
    status: 400,
    title: 'The body is missing or invalid',
    cause: 'The body is no JSON, or has another shape.',
    remedy: 'Correct the places that `pointer` and `errors` name.',
  },
  'request.invalid_cursor': {
    status: 400,
    title: 'The cursor does not belong to this list',
    cause: 'The cursor is of another list, or was got with other parameters.',
    remedy: 'Send `next` of the last page with the same parameters, or begin without a cursor.',
  },
  'request.key_in_query': {
    status: 400,
    title: 'A key must not be sent in the address',
    cause: 'The key is in the query, where servers and proxies log it.',
    remedy: 'Send it as `Authorization: Bearer`. Rotate the key if the address was logged.',
  },
  'request.timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    cause: 'Headers and body did not arrive within 30 seconds.',
    remedy: 'Send it again, or a smaller body.',
  },
  'request.too_large': {
    status: 413,
    title: 'The body is too large',
    cause: 'The body has over 1 MB, or over 20 MB as CSV.',
    remedy: 'Divide it into several requests, or send CSV where the operation takes it.',
  },
  'request.address_too_long': {
    status: 414,
    title: 'The address is too long',
    cause: 'Path and query have over 8,000 characters.',
    remedy: 'Ask for fewer things at once.',
  },
  'request.unsupported_type': {
    status: 415,
    title: 'The type of the body is not supported',
    cause: 'The body is of another type, or compressed.',
    remedy: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
  },
  'request.unmet_expectation': {
    status: 417,
    title: 'The expectation cannot be met',
    cause: 'The header `Expect` asks for something else than `100-continue`.',
    remedy: 'Leave the header out.',
  },
  'request.headers_too_large': {
    status: 431,
    title: 'The headers are too large',
    cause: 'The headers have over 16 kB.',
    remedy: 'Send fewer headers.',
  },
  'request.no_method': {
    status: 405,
    title: 'The path does not support this method',
    cause: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods of the header `Allow`.',
  },
  'request.still_running': {
    status: 409,
    title: 'The first request with this Idempotency-Key still runs',
    cause: 'The first request has not ended yet.',
    remedy: REPEAT_LATER,
  },
  'request.other_repeated': {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    cause: 'A request of the last day had this Idempotency-Key, and another operation or body.',
    remedy: 'Send a new one for each new request.',
  },
  'request.changed_meanwhile': {
    status: 412,
    title: 'What If-Match names was changed meanwhile',
    cause: 'It was changed after the response whose `ETag` the request sends.',
    remedy: 'Read it again, and send the change with the new `ETag`.',
  },
  'access.no_key': {
    status: 401,
    title: 'A key is required',
    cause: 'The request has no key.',
    remedy: 'Send `Authorization: Bearer` with your key.',
  },
  'access.mistyped_key': {
    status: 401,
    title: 'The key is malformed: its checksum is wrong',
    cause: 'The key was cut off or mistyped.',
    remedy: 'Copy the whole key again, from `fwk_` on.',
  },
  'access.unknown_key': {
    status: 401,
    title: 'The key is unknown, expired or revoked',
    cause: 'No key with this text is valid now.',
    remedy: 'Use another key, or ask the operator for one.',
  },
  'access.missing_scope': {
    status: 403,
    title: 'The key lacks the required scope',
    cause: '`detail` names the scope that the key lacks.',
    remedy: 'Use a key with the scope.',
  },
  'access.resellers_only': {
    status: 403,
    title: 'Only resellers may use the operation',
    cause: 'The key is of an operator, who has no watch lists.',
    remedy: 'Use a key of the reseller.',
  },
  'access.code_gone': {
    status: 410,
    title: 'The code for signing in is not valid any more',
    cause: 'The code was used, has expired, or never existed.',
    remedy: 'Ask the operator for another link.',
  },
  'access.scope_not_grantable': {
    status: 400,
    title: 'A key of this kind cannot have the scope',
    cause: 'A scope of operators was asked for a reseller, or the other way round.',
    remedy: 'Ask for the scopes that `detail` names.',
  },
  'access.too_many_requests': {
    status: 429,
    title: 'Too many requests',
    cause: 'The key or the address has made too many requests, or has too many in progress.',
    remedy: REPEAT_LATER,
  },
  'quota.endpoints': {
    status: 409,
    title: 'There are 20 endpoints already',
    cause: 'A reseller has at most 20 webhook endpoints.',
    remedy: 'Delete or change one of them.',
  },
  'quota.tests': {
    status: 409,
    title: 'The target was sent too many tests in the last hour',
    cause: 'A target is sent few tests and examples an hour, by all endpoints together.',
    remedy: FREE_QUOTA,
  },
  'quota.secret_rotations': {
    status: 409,
    title: 'Three former secrets of the endpoint still sign',
    cause: 'Each former secret signs for 24 hours, and at most three do at once.',
    remedy: FREE_QUOTA,
  },
  'quota.key_rotations': {
    status: 409,
    title: 'Too many keys were rotated in a day',
    cause: 'Your keys were rotated as often as a day allows.',
    remedy: FREE_QUOTA,
  },
  'quota.max_delays': {
    status: 409,
    title: 'The watches need more checks than the share allows',
    cause: 'Your longest delays together need more checks a second than your share has.',
    remedy: 'Allow longer delays, or watch fewer fares with one.',
  },
  'resellers.duplicate': {
    status: 409,
    title: 'A reseller of this name already exists',
    cause: 'The name is taken, also by a disabled reseller.',
    remedy: 'Choose another name.',
  },
  'resellers.invalid_name': {
    status: 400,
    title: 'The name of the reseller is not allowed',
    cause: 'The name is empty, too long, or has characters that are not allowed.',
    remedy: 'Choose a name as `detail` says.',
  },
  'resellers.disabled': {
    status: 403,
    title: 'The reseller is disabled, so no watch can begin',
    cause: 'The operator has disabled the reseller. Watches can be read and deleted.',
    remedy: 'Ask the operator to enable it.',
  },
  'watch.duplicate_list': {
    status: 409,
    title: 'A watch list of this name already exists',
    cause: 'Another list of yours has it.',
    remedy: 'Choose another name, or use that list.',
  },
  'watch.invalid_rows': {
    status: 400,
    title: 'Some watches are invalid; nothing was changed',
    cause: 'Rows of the body break a rule. `errors` names the first of them.',
    remedy: 'Correct these rows and send all of them again.',
  },
  'changes.beyond_head': {
    status: 400,
    title: 'The number is beyond the end of the feed',
    cause: 'No record has this number yet: it is of another feed, or made up.',
    remedy: 'Continue after the last number that you have read.',
  },
  'changes.restored': {
    status: 410,
    title: 'The database was restored to before the number',
    cause: 'You have read further than the backup that the operator restored.',
    remedy: READ_ON,
  },
  'changes.archived': {
    status: 410,
    title: 'Records that the request asks for are archived',
    cause: 'The operator has deleted old records that an export has.',
    remedy: READ_ON,
  },
  'history.archived': {
    status: 410,
    title: 'The history of that time is archived',
    cause: 'The operator has deleted the history of that time, which an export has.',
    remedy: 'Ask for a later time, or the operator for the export.',
  },
  'routes.too_many_changes': {
    status: 400,
    title: 'The answer would have too many changes',
    cause: 'The two instants are far apart, or a large list arrived between them.',
    remedy: 'Ask for a shorter interval, or read the feed of route changes.',
  },
  'routes.no_list': {
    status: 503,
    title: 'No list has been accepted yet',
    cause: 'The first sync has not ended.',
    remedy: REPEAT_LATER,
  },
  'verify.passenger_rule': {
    status: 400,
    title: 'The passenger mix breaks a rule',
    cause: 'A mix has an adult, an adult for each infant, and at most twelve of each kind.',
    remedy: 'Change the counts as `detail` says.',
  },
  'verify.same_flight': {
    status: 400,
    title: 'The return flight is the outbound flight',
    cause: 'Both parameters name one flight.',
    remedy: 'Leave the return flight out, or name another.',
  },
  'verify.unknown': {
    status: 503,
    title: 'The upstream gave no usable answer about the fare',
    cause: 'The upstream timed out, failed, or answered something else. `reason` says which.',
    remedy: REPEAT_LATER,
  },
  'incident.none_open': {
    status: 409,
    title: 'No incident of the kind is open',
    cause: 'No change of the kind waits.',
    remedy: 'List the incidents: it has closed by itself.',
  },
  'sync.not_held': {
    status: 409,
    title: 'The run is not held',
    cause: 'The run was applied, or its review has ended already.',
    remedy: 'Read the run: its `status` says what became of it.',
  },
  'sync.snapshot_gone': {
    status: 409,
    title: 'The list of the run is no longer stored',
    cause: 'The retention of lists has passed.',
    remedy: 'Review a newer run.',
  },
  'sync.snapshot_damaged': {
    status: 409,
    title: 'The stored list of the run is damaged',
    cause: 'The stored bytes do not have their hash.',
    remedy: 'Reject the run. Another sync fetches the list.',
  },
  'sync.busy': {
    status: 503,
    title: 'Another process is working on the list; try again',
    cause: 'A sync or another decision about the list is under way.',
    remedy: REPEAT_LATER,
  },
  'delivery.no_encryption_key': {
    status: 503,
    title: 'The operator has set no ENCRYPTION_KEY',
    cause: 'Secrets and targets are stored encrypted only.',
    remedy: 'Ask the operator to set it.',
  },
  'delivery.endpoint_disabled': {
    status: 409,
    title: 'The endpoint is disabled',
    cause: 'It was disabled, failed for too long, or its e-mail address is not allowed.',
    remedy:
      'Repair the receiver and enable the endpoint, or ask the operator to allow the address.',
  },
  'delivery.address_not_allowed': {
    status: 409,
    title: 'The operator has not allowed the e-mail address',
    cause: 'E-mail goes only to addresses that an operator has allowed.',
    remedy: 'Ask the operator to allow it.',
  },
  'delivery.unsigned_format': {
    status: 409,
    title: 'Only webhooks have a secret',
    cause: 'Messages to a chat and e-mails are not signed.',
    remedy: 'Nothing is to be rotated.',
  },
  not_found: {
    status: 404,
    title: 'There is no such thing',
    cause:
      'Nothing of yours has this name or number. `missing` says what was looked for; `operation` is a path of the API.',
    remedy: 'Correct it. The list of its kind shows what there is.',
  },
  'server.busy': {
    status: 503,
    title: 'The process is overloaded; try again',
    cause: 'The process has too little memory or time for further requests.',
    remedy: REPEAT_LATER,
  },
  'store.unavailable': {
    status: 503,
    title: 'The database is unavailable; try again',
    cause: 'The database does not answer, or is being restarted.',
    remedy: REPEAT_LATER,
  },
  internal: {
    status: 500,
    title: 'Internal error',
    cause: 'A fault of farewatch.',
    remedy: 'Send the `requestId` to the operator: the log has the cause.',
  },
} as const satisfies Record<string, ProblemText>

export type ProblemCode = keyof typeof PROBLEMS

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}

/** The address of the page that explains a code: the `type` of its problems. */
export function problemPage(code: string): string {
  return `/docs/problems/${code}`
}

/** What a 404 may be about. */
export const MISSING = [
  'address',
  'delivery',
  'endpoint',
  'fare',
  'incident',
  'key',
  'list',
  'operation',
  'place',
  'record',
  'reseller',
  'route',
  'run',
  'watch',
] as const
export type Missing = (typeof MISSING)[number]
