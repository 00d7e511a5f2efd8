import { codeHelps } from '../../grafana/source/alerts.ts'

/** A command that a section of the runbooks names. */
export interface RunbookCommand {
  readonly line: string
  readonly args: readonly string[]
}

/** What stands for the words in capitals of a command. */
export interface RunbookWords {
  readonly flightId: string
}

/** They ask for input, or change the schema. */
const LEFT_OUT = ['psql', 'migrate']

/** The commands at the head of a section of the runbooks, or of all. */
export function runbookCommands(words: RunbookWords, of?: string): RunbookCommand[] {
  const lines = codeHelps()
    .filter(({ section, code }) => of === undefined || section === of || code === of)
    .flatMap(({ check }) => check?.command ?? [])
    .filter((line) => !LEFT_OUT.includes(line))
  return [...new Set(lines)].map((line) => {
    const filled = line
      .replace('--reseller NAME', '--reseller ana')
      .replace('--flight ID', `--flight ${words.flightId}`)
    const args = [...filled.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, bare = '']) => quoted ?? bare,
    )
    return { line, args }
  })
}
