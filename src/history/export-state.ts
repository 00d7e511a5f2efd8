import { realpath } from 'node:fs/promises'
import path from 'node:path'
import type { Db } from '../platform/db/database.ts'
import { readGeneration, readIdentity } from '../platform/db/generations.ts'
import { readJson, writeJson } from './durable-files.ts'
import { ExportError } from './public-tables.ts'

/** What numbers belong to: they go on within one generation of one database. */
export interface Origin {
  readonly generation: number
  readonly database: string
}

/**
 * The identity has the timeline, so that a restored copy is found although no process has begun its generation yet. The identity
 * of a standby cannot be read: that of the generation counts.
 */
export async function readOrigin(db: Db): Promise<Origin> {
  const generation = await readGeneration(db)
  const { database, timeline } = (await readIdentity(db)) ?? generation
  return { generation: generation.number, database: `${database}/${timeline}` }
}

/** What the runs of an export have taken. */
export interface ExportState extends Origin {
  /** The number of the last run. */
  readonly run: number
  readonly tables: Readonly<Record<string, TakenTable>>
}

interface TakenTable {
  /** The first number that no run has taken. */
  readonly next: number
  /** When the last run with this table read it. */
  readonly instant: string
}

/** The directory of the runs is named as seen from the state, so that both may be moved together. */
interface StoredState extends ExportState {
  readonly directory: string
}

/**
 * Undefined if the file does not exist yet. Throws ExportError if it belongs to another directory, to another database or to an earlier
 * generation: numbers would be taken twice, or never.
 */
export async function readState(
  file: string,
  { directory, origin }: { readonly directory: string; readonly origin: Origin },
): Promise<ExportState | undefined> {
  const seen = await seenFrom(file, directory)
  const state = await readJson(file).catch(() => null)
  if (state === undefined) return undefined
  if (!isState(state)) throw new ExportError(`${file} is not the state of an export`)
  const again = 'load everything again, into another directory and with another state'
  if (state.directory !== seen) {
    throw new ExportError(`${file} is the state of the runs in ${state.directory}, as seen from it`)
  }
  if (state.database !== origin.database) {
    throw new ExportError(`${file} is the state of another database: ${again}`)
  }
  if (state.generation !== origin.generation) {
    throw new ExportError(
      `${file} is of generation ${state.generation}, and a restore began generation ${origin.generation}: ${again}`,
    )
  }
  return state
}

function isState(value: unknown): value is StoredState {
  const { run, tables, directory } = (value ?? {}) as Partial<StoredState>
  return (
    Number.isSafeInteger(run) &&
    typeof directory === 'string' &&
    typeof tables === 'object' &&
    Object.values(tables).every(({ next }) => Number.isSafeInteger(next))
  )
}

/** From its return on, the run counts as taken. */
export async function saveState(
  file: string,
  directory: string,
  state: ExportState,
): Promise<void> {
  await writeJson(file, { directory: await seenFrom(file, directory), ...state })
}

async function seenFrom(file: string, directory: string): Promise<string> {
  const folder = path.dirname(path.resolve(file))
  const from = await realpath(folder).catch((cause: unknown) => {
    throw new ExportError(`the directory ${folder} of the state does not exist`, { cause })
  })
  return path.relative(from, await realpath(directory)) || '.'
}
