import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { keyOf, RESELLER_HEADER } from './authorize.ts'
import type { Operation, Transactions } from './operation.ts'
import { ProblemError } from './problems.ts'
import { BodyFile } from './read-body.ts'
import { propertiesOf } from './read-parameters.ts'

type Asked = Parameters<Operation<never>['run']>[1]
type Run<D> = (deps: D) => Promise<unknown>

export interface SafeWrites<D> {
  /** Runs the operation: once for its `Idempotency-Key`, or only if the tag of its `If-Match` is the present one. */
  run(deps: D, asked: Asked): Promise<unknown>
}

interface SafeWritesArgs<D> {
  readonly operations: readonly Operation<D>[]
  readonly transactions: Transactions<D>
}

/**
 * Adds to an operation what all writes share: the `Location` of what it made, the `ETag` of what two people may edit,
 * `Idempotency-Key` and `If-Match`.
 */
export function safeWrites<D>(
  operation: Operation<D>,
  { operations, transactions }: SafeWritesArgs<D>,
): SafeWrites<D> {
  const ofPath = operations.filter(({ path }) => path === operation.path)
  const members = isEdited(operation, ofPath) ? editedMembers(ofPath) : undefined
  const reader = ofPath.find(({ method }) => method === 'GET')
  const isEdit = operation.lock !== undefined && reader !== undefined
  return {
    run: (deps, asked) => {
      const run: Run<D> = async (given) => {
        const answered = await operation.run(given, asked)
        setHeaders(asked.reply, {
          location: locationOf(operation, asked, answered),
          etag: members === undefined ? undefined : quoted(tagOf(members, answered)),
        })
        return answered
      }
      const name = operation.repeatable === true ? repeatName(asked.request) : undefined
      if (name !== undefined) return runOnce(operation, { transactions, deps, asked, name, run })
      const ifMatch = asked.request.headers['if-match']
      if (ifMatch === undefined || !isEdit || members === undefined) return run(deps)
      return transactions.run(deps, async (given) => {
        await operation.lock?.(given, asked)
        const present = tagOf(members, await reader.run(given, { ...asked, body: undefined }))
        if (!matches(ifMatch, present)) throw new ProblemError('request.changed_meanwhile')
        return run(given)
      })
    },
  }
}

/** Only what was made has a `Location`: a PUT that replaces something has none. */
function locationOf({ answer }: Described, { reply }: Asked, answered: unknown) {
  if (reply.statusCode !== 201) return undefined
  const made = answered as Readonly<Record<string, unknown>>
  return answer.location?.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String(made[name])),
  )
}

interface Once<D> {
  readonly transactions: Transactions<D>
  readonly deps: D
  readonly asked: Asked
  readonly name: string
  readonly run: Run<D>
}

async function runOnce<D>(
  operation: Operation<D>,
  { transactions, deps, asked, name, run }: Once<D>,
): Promise<unknown> {
  const { request, reply, caller } = asked
  const secret = keyOf(operation, request)
  if (caller.kind === 'unknown' || secret === undefined) throw new ProblemError('access.no_key')
  const repeatable = { keyId: caller.keyId, secret, name, request: textOf(operation.id, request) }
  const kept = await transactions.once(deps, repeatable, async (given) => {
    const body = reply.serialize(await run(given)) as string
    const location = reply.getHeader('location')
    return { status: reply.statusCode, location: location?.toString() ?? null, body }
  })
  reply.code(kept.status)
  setHeaders(reply, { location: kept.location ?? undefined })
  return kept.body
}

/** Everything that makes a request what it is. */
function textOf(operation: string, { url, headers, body }: FastifyRequest): Buffer {
  const bytes = body instanceof BodyFile ? body.sha256 : Buffer.from(JSON.stringify(body ?? null))
  const head = `${operation} ${url} ${headers[RESELLER_HEADER] ?? ''}\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

const REPEAT_NAME = /^[\x21-\x7e]{1,200}$/

function repeatName({ headers }: FastifyRequest): string | undefined {
  const given = headers['idempotency-key']
  if (given === undefined || (typeof given === 'string' && REPEAT_NAME.test(given))) return given
  throw new ProblemError('request.invalid_parameter', {
    parameter: 'Idempotency-Key',
    detail: 'an Idempotency-Key has 1 to 200 letters, digits and signs, without spaces',
  })
}

type Described = Pick<Operation<never>, 'path' | 'method' | 'body' | 'lock' | 'answer'>

/** Whether an operation answers, with an `ETag`, what two people may edit. */
export function isEdited(operation: Described, operations: readonly Described[]): boolean {
  const ofPath = operations.filter(({ path }) => path === operation.path)
  return operation.answer.status !== 204 && editedMembers(ofPath) !== undefined
}

/** What the writes of an address can change; undefined if they are not edits. */
function editedMembers(ofPath: readonly Described[]): readonly string[] | undefined {
  const edits = ofPath.filter(({ lock }) => lock !== undefined)
  if (edits.length === 0) return undefined
  const edited = edits.flatMap(({ body }) => Object.keys(propertiesOf(body)))
  // A thing that was deleted and made again is another one, and the shown target of an endpoint hides a part of it.
  return [...new Set([...edited, 'createdAt', 'updatedAt'])]
}

/** The tag changes with what people set, and not with what farewatch observes: a check must not refuse an edit. */
function tagOf(members: readonly string[], answered: unknown): string {
  const shown = answered as Readonly<Record<string, unknown>>
  const text = JSON.stringify(members.map((name) => shown[name]))
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function quoted(tag: string): string {
  return `"${tag}"`
}

/** A proxy that compresses makes a tag weak: it is the same one. */
function matches(header: string, tag: string): boolean {
  return header.trim() === '*' || header.includes(quoted(tag))
}

function setHeaders(reply: FastifyReply, headers: Readonly<Record<string, string | undefined>>) {
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) reply.header(name, value)
  }
}
