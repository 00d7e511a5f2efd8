import { createHash } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { ProblemError } from './problems.ts'

/** The two parameters of every list, for the query of its operation. */
export function pageParameters({ preset, max }: { preset: number; max: number }) {
  return {
    limit: Type.Integer({
      minimum: 1,
      maximum: max,
      default: preset,
      description: 'Items a page.',
    }),
    cursor: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description: '`next` of the page before, with the same other parameters.',
      }),
    ),
  }
}

/** The answer of every list. */
export function pageOf<T extends TSchema>(item: T) {
  return Type.Object(
    {
      items: Type.Array(item),
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'The `cursor` of the next page; null on the last one.',
      }),
    },
    { additionalProperties: false },
  )
}

export interface Page<T> {
  items: T[]
  next: string | null
}

export interface Cursors<Position> {
  /** The position to go on after; undefined on the first page. Throws where the cursor is not one of this list. */
  read(cursor: string | undefined, bound: unknown): Position | undefined
  /**
   * The page of rows that were read with a limit one above the page's: the one too many says that there is a next.
   * @param bound what the cursor goes with, of what the client itself names: an id of its path, and the filters.
   */
  page<T>(
    rows: readonly T[],
    args: { limit: number; bound: unknown; positionOf: (row: T) => Position },
  ): Page<T>
}

const CHECK_CHARS = 12

/**
 * The cursors of one list. A cursor is a position in an order of keys, opaque to clients, and bound to its list, the ids
 * of its path and its filters: one of another list is refused. That is a guard against mistakes, not a secret: whoever
 * makes one up can try any position, and any guess of what it is bound to. So a position is one that the list's items show, and
 * is compared with what they show; and nothing is bound that its client is not to know.
 * @param list the list's own name.
 */
export function cursorsOf<P extends TSchema>(list: string, position: P): Cursors<Static<P>> {
  const check = Compile(position)
  return {
    read: (cursor, bound) => {
      if (cursor === undefined) return undefined
      const [body = '', ...sum] = cursor.split('.')
      const value = sum.join('.') === checkOf(list, body, bound) ? parse(body) : undefined
      if (check.Check(value)) return value as Static<P>
      throw new ProblemError('request.invalid_cursor', {
        parameter: 'cursor',
        detail: 'cursor must be `next` of a page of this list, asked for with the same parameters',
      })
    },
    page: (rows, { limit, bound, positionOf }) => {
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

function parse(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString())
  } catch {
    return undefined
  }
}
