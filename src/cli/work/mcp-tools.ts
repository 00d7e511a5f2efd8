import { AppError, messageOf } from '../../platform/base/errors.ts'
import { asAnalyst } from '../../platform/db/analyst-session.ts'
import type { Database } from '../../platform/db/database.ts'
import type { Api, Operation, Send } from '../api-client.ts'

/** What a tool takes, as JSON Schema. */
interface Input {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Property>>
  readonly required: readonly string[]
  readonly additionalProperties: false
}

interface Property {
  readonly type: 'string' | 'integer'
  readonly description: string
}

export type Given = Readonly<Record<string, string | number>>

/** Something that an assistant may ask. It changes nothing. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: Input
  /** Throws AppError. */
  run(given: Given): Promise<unknown>
}

export interface ToolDeps {
  readonly api: Api
  readonly send: Send
  /** With the login of an analyst; undefined if there is none. */
  readonly database: Database | undefined
}

const LIMIT = 'limit#?: how many at most'
const AFTER = 'after#?: the number after which to begin; 0 or unset is the start'
const KINDS = 'kinds?: kinds of changes, with commas'
const RESELLER = 'reseller?: the name of the reseller; needed with the key of an operator'
const LIST = 'list: the name of a watch list'
const REFERENCE = 'reference: the reference of the watch'
const INSTANT = 'an instant, ISO 8601'

type Read = (operation: Operation, given: Given) => Promise<unknown>

/** All tools; that for questions in SQL only with a database. */
export function createTools({ api, send, database }: ToolDeps): Tool[] {
  const read: Read = (operation, given) => {
    const [params, { reseller, ...query }] = split(operation, given)
    return api.call(operation, { params, query, reseller: reseller as string | undefined })
  }
  const status = tool('status', 'How fresh and reliable the data is, and what is wrong', [], () =>
    read('GET /status', {}),
  )
  const tools = [status, ...watchTools(read), ...fareTools(read), ...routeTools(read)]
  const questions = database === undefined ? [] : [questionTool(database)]
  return [...tools, docsTool(send), ...questions]
}

function watchTools(read: Read): Tool[] {
  const belief = 'state?: bookable, not_bookable or unknown'
  return [
    tool(
      'changes',
      'The records of the watches of a reseller, oldest first',
      [RESELLER, AFTER, LIMIT, KINDS, 'reference?: only records of this watch'],
      (given) => read('GET /watch-changes', { after: 0, ...given }),
    ),
    tool('watch_lists', 'The watch lists of a reseller', [RESELLER], (given) =>
      read('GET /watch-lists', given),
    ),
    tool(
      'watches',
      'The watches of a list with what is believed of each fare',
      [RESELLER, LIST, belief, LIMIT, 'cursor?: next of the page before'],
      (given) => read('GET /watch-lists/{list}/watches', given),
    ),
    tool(
      'explain_watch',
      'Why a watch shows what it shows: its belief and next check, what was believed before, and its prices',
      [RESELLER, LIST, REFERENCE],
      async (given) => {
        const [watch, timeline, prices] = await Promise.all([
          read('GET /watch-lists/{list}/watches/{reference}', given),
          read('GET /watch-lists/{list}/watches/{reference}/timeline', given),
          read('GET /watch-lists/{list}/watches/{reference}/prices', given),
        ])
        return { watch, timeline, prices }
      },
    ),
  ]
}

/** For operators. */
function fareTools(read: Read): Tool[] {
  return [
    tool(
      'fare_changes',
      'The changes of all tracked fares, oldest first; for operators',
      [AFTER, LIMIT],
      (given) => read('GET /availability-changes', { after: 0, ...given }),
    ),
    tool(
      'explain_change',
      'Why a reseller was notified of a change of a fare, or was not; for operators',
      ['seq#: the number of the change, as fare_changes shows it', 'reseller: its name'],
      (given) => read('GET /availability-changes/{seq}/resellers/{reseller}', given),
    ),
    tool(
      'fares',
      'The tracked fares of an outbound flight; for operators',
      ['flightId: the id of the flight', LIMIT],
      (given) => read('GET /fares', given),
    ),
    tool(
      'fare',
      'What is believed of a tracked fare, its history and its changes; for operators',
      ['fareId#: the id of the fare'],
      (given) => read('GET /fares/{fareId}', given),
    ),
  ]
}

function routeTools(read: Read): Tool[] {
  const ends = ['departure?: a code of an airport', 'destination?: a code of an airport']
  return [
    tool(
      'route_changes',
      'The changes of routes and places, oldest first',
      [
        AFTER,
        LIMIT,
        KINDS,
        `from?: ${INSTANT}`,
        `to?: ${INSTANT}`,
        'places?: ids of places, with commas',
      ],
      (given) => read('GET /route-changes', given),
    ),
    tool(
      'routes',
      'The routes that are live, or were at an instant; name an end or a country, or the answer is cut',
      [...ends, 'country?: a country of an end', `asOf?: ${INSTANT}`],
      (given) => read('GET /data/routes', given),
    ),
    tool(
      'route_history',
      'When a route existed and when it was available',
      ['departureId: the id of a place', 'destinationId: the id of a place'],
      (given) => read('GET /routes/{departureId}/{destinationId}/history', given),
    ),
  ]
}

function docsTool(send: Send): Tool {
  const about = 'The documentation as Markdown; without a page, the list of pages'
  return tool(
    'docs',
    about,
    ['page?: a page of the list, such as resellers or dictionary'],
    async ({ page }) => {
      const isWord = /^[\w-]+$/.test(String(page ?? 'list'))
      const path = page === undefined ? '/llms.txt' : `/docs/${page}.md`
      const response = isWord ? await send(path, {}) : undefined
      if (response?.ok === true) return response.text()
      throw new ToolError(`there is no page "${page}"`)
    },
  )
}

/** @param inputs `name: description`, with `#` after the name of a number, and then `?` if it may be left out. */
function tool(
  name: string,
  description: string,
  inputs: readonly string[],
  run: Tool['run'],
): Tool {
  const properties: Record<string, Property> = {}
  const required: string[] = []
  for (const text of inputs) {
    const [, input = '', number, optional, about = ''] = /^(\w+)(#)?(\?)?: (.*)$/.exec(text) ?? []
    properties[input] = { type: number === '#' ? 'integer' : 'string', description: about }
    if (optional === undefined) required.push(input)
  }
  const input = { type: 'object', properties, required, additionalProperties: false } as const
  return { name, description, input, run }
}

/** The values that the path names, and the others. */
function split(operation: string, given: Given): [Given, Given] {
  const entries = Object.groupBy(Object.entries(given), ([name]) =>
    operation.includes(`{${name}}`) ? 'path' : 'query',
  )
  return [Object.fromEntries(entries.path ?? []), Object.fromEntries(entries.query ?? [])]
}

const MOST_ROWS = 200

/** Only a SELECT can be read from, and the login may read the public SQL alone. */
function questionTool(database: Database): Tool {
  return tool(
    'query',
    `Answer a question by one SELECT on the public SQL (schema farewatch, PostgreSQL 18), with ${MOST_ROWS} rows at most. ` +
      'The page "dictionary" of docs has its views and columns, and "analysts" examples',
    ['sql: one SELECT statement'],
    ({ sql = '' }) =>
      asAnalyst(database, async ({ query }) => {
        const statement = String(sql).trim().replace(/;$/, '')
        const { rows } = await query(
          `select to_jsonb(q) from (\n${statement}\n) q limit ${MOST_ROWS}`,
        )
        // As PostgreSQL writes it: a price that were parsed would be a float.
        return `{"rows":[${rows.join()}],"mayHaveMore":${rows.length === MOST_ROWS}}`
      }),
  )
}

/** The assistant gave something that no tool takes. */
class ToolError extends AppError {
  override readonly name = 'ToolError'
  override readonly code = 'mcp.unknown'
}

const MOST_CHARS = 100_000

/** What an assistant reads: an answer as JSON or Markdown, or the failure. A longer one would fill its memory. */
export async function runTool(
  { run }: Tool,
  given: Given,
): Promise<{ content: { type: 'text'; text: string }[]; isError?: true }> {
  const textOf = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  try {
    const answer = await run(given)
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    if (text.length <= MOST_CHARS) return textOf(text)
    return textOf(`${text.slice(0, MOST_CHARS)}\n[cut at ${MOST_CHARS} characters: ask for less]`)
  } catch (err) {
    if (!(err instanceof AppError)) throw err
    return { ...textOf(`${err.code}: ${messageOf(err)}`), isError: true }
  }
}
