import { createHash } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { ProblemError } from './problems.ts'
import { isStorable } from './read-parameters.ts'
import { object } from './schemas.ts'

/** The two query parameters of every paged list. */
export function pageParameters({ preset, max }: { preset: number; max: number }) {
  return {
    limit: Type.Integer({
      minimum: 1,
      maximum: max,
      default: preset,
      description: 'The maximum number of items on the page.',
    }),
    cursor: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description: '`next` of the previous page. The other parameters must be the same.',
      }),
    ),
  }
}

/** What lists have in common that are read by pages alone. */
export const PAGED = {
  query: object(pageParameters({ preset: 50, max: 1000 })),
  problems: ['request.invalid_cursor'],
  example: { query: { limit: '2' } },
} as const

/** The response of every paged list. With a titled item it becomes a component of its own. */
export function pageOf<T extends TSchema>(item: T) {
  const { title } = item as { readonly title?: string }
  return Type.Object(
    {
      items: Type.Array(item),
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'The `cursor` of the next page; null on the last page.',
      }),
    },
    {
      additionalProperties: false,
      ...(title === undefined ? {} : { title: `${title}Page` }),
    },
  )
}

export interface Page<T> {
  items: T[]
  next: string | null
}

/** A list that is short by its nature, as the one page that it has: pages can be added without a change of its shape. */
export function onlyPage<T>(items: T[]): Page<T> {
  return { items, next: null }
}

interface Cursors<Row, Position> {
  /**
   * Reads a page. `read` is given a limit of one more than the page's: an extra row means that there is a next page.
   * Throws if the cursor is not of this list.
   * @param bound what the cursor is bound to: the ids in the path, the filters, and the reseller's name if the list is
   *   one reseller's.
   */
  page<T extends Row>(
    query: { readonly limit: number; readonly cursor?: string },
    read: (page: PagePosition<Position>) => Promise<readonly T[]>,
    bound?: unknown,
  ): Promise<Page<T>>
}

/** What a page shows. */
export interface PagePosition<Position> {
  /** The position after which the page begins; undefined on the first page. */
  readonly after: Position | undefined
  readonly limit: number
}

/** An instant as a position, in milliseconds: Postgres lacks years that a Date has. Ours are from 1970 to 9999. */
export const InstantPosition = Type.Integer({ minimum: 0, maximum: Date.UTC(9999, 11, 31) })

const CHECK_CHARS = 12

/**
 * The cursors of one list. A cursor is a position in the list's order, opaque to clients, and bound to the list,
 * the ids in its path, its filters and its reseller. A cursor of another list is refused.
 *
 * The binding prevents mistakes and is not a secret: a client can forge a cursor. Therefore a position consists only of
 * values that the list's items show, `bound` holds only what the client knows, and what Postgres could not compare is
 * refused.
 * @param list the name of the list.
 */
export function cursorsOf<Row, P extends TSchema>(
  list: string,
  position: P,
  positionOf: (row: Row) => Static<P>,
): Cursors<Row, Static<P>> {
  const check = Compile(position)
  const positionIn = (cursor: string, bound: unknown): Static<P> => {
    const [body = '', ...sum] = cursor.split('.')
    const value = sum.join('.') === checkOf(list, body, bound) ? parse(body) : undefined
    if (check.Check(value) && isComparable(value)) return value as Static<P>
    throw new ProblemError('request.invalid_cursor', {
      parameter: 'cursor',
      detail: 'cursor must be `next` of a page of this list, requested with the same parameters',
    })
  }
  return {
    page: async ({ limit, cursor }, read, bound = null) => {
      const after = cursor === undefined ? undefined : positionIn(cursor, bound)
      const rows = await read({ after, limit: limit + 1 })
      const items = rows.slice(0, limit)
      const last = items.at(-1)
      if (rows.length <= limit || last === undefined) return { items, next: null }
      const body = Buffer.from(JSON.stringify(positionOf(last))).toString('base64url')
      return { items, next: `${body}.${checkOf(list, body, bound)}` }
    },
  }
}

function checkOf(list: string, body: string, bound: unknown): string {
  const text = JSON.stringify([list, body, bound])
  return createHash('sha256').update(text).digest('base64url').slice(0, CHECK_CHARS)
}

/** Whether Postgres can store every text of a position. */
function isComparable(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  return typeof value !== 'object' || Object.values(value ?? {}).every(isComparable)
}

function parse(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString())
  } catch {
    return undefined
  }
}
