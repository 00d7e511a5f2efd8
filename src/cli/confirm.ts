import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { UsageError } from './exit-codes.ts'
import { escapeControls } from './text/text-format.ts'

/** The option of every command that deletes. */
export const YES = ['--yes', 'delete without a question'] as const

export interface YesOption {
  readonly yes?: boolean | undefined
}

interface Streams {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable
}

/**
 * Returns once a deletion is confirmed: by `--yes`, or by an answer on a terminal. Throws UsageError if it is not, and
 * where no question can be asked.
 * @param what what would be deleted, as a clause: `2 watches are deleted for good`.
 */
export async function confirmDeletion(
  what: string,
  { yes }: YesOption,
  { input, output }: Streams = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (yes === true) return
  if (input.isTTY !== true) throw new UsageError(`${what}; to do so without a terminal, add --yes`)
  const asking = createInterface({ input, output })
  try {
    const answer = await asking.question(`${escapeControls(what)}. Type yes to go on: `)
    if (answer.trim().toLowerCase() !== 'yes') throw new UsageError('nothing was deleted')
  } finally {
    asking.close()
  }
}
