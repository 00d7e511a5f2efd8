import type { Command } from 'commander'

/** The options of the program, which every command has. */
export interface ProgramOptions {
  /** That of --json too. */
  readonly output?: OutputFormat
  readonly wide?: boolean
  readonly database?: boolean
}

export const OUTPUT_FORMATS = ['table', 'json', 'csv'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/** What a module adds to its commands, by their words. @param describe makes the program with all commands. */
export type Commands = Readonly<
  Record<string, (command: Command, describe: () => Promise<Command>) => void>
>

export interface Help {
  /** What follows the words of the command in each example. */
  readonly examples?: readonly string[]
  readonly remark?: string
}

/** Adds a command with its help. The modules that describe commands import nothing that a command needs to run. */
export function add(parent: Command, name: string, about: string, given?: Help): Command {
  return help(parent.command(name).description(about), given)
}

/** Adds the end of its help to a command. */
export function help(command: Command, { examples = [''], remark = '' }: Help = {}): Command {
  const lines = examples.map((args) => `\n  ${[...wordsOf(command), args].join(' ').trimEnd()}`)
  const heading = `\nExample${lines.length === 1 ? '' : 's'}:`
  const above = remark === '' ? '' : `\n${remark.trim()}\n`
  return command.addHelpText('after', `${above}${heading}${lines.join('')}`)
}

function wordsOf(command: Command): string[] {
  return [...(command.parent === null ? [] : wordsOf(command.parent)), command.name()]
}

/** Runs with the arguments of a command, and its options with those of the program. A number is the exit code. */
type Run<Given extends unknown[]> = (...given: Given) => Promise<unknown>

/** The action of a command. Its run may take the command too. */
export function act<Given extends unknown[]>(run: Run<Given>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const options = command.optsWithGlobals()
    const exit = await run(...([...given.slice(0, -2), options, command] as unknown[] as Given))
    if (typeof exit === 'number') process.exitCode = exit
  }
}

/** What works without the API, by its file. */
interface Works {
  readonly config: typeof import('./work/config.ts')
  readonly database: typeof import('./work/database.ts')
  readonly doctor: typeof import('./work/doctor.ts')
  readonly history: typeof import('./work/history.ts')
  readonly mcp: typeof import('./work/mcp.ts')
  readonly probe: typeof import('./work/probe.ts')
  readonly receive: typeof import('./work/receive.ts')
  readonly reseal: typeof import('./work/reseal.ts')
  readonly sandbox: typeof import('./work/sandbox.ts')
  readonly services: typeof import('./work/services.ts')
  readonly 'sign-in-link': typeof import('./work/sign-in-link.ts')
  readonly status: typeof import('./work/status.ts')
  readonly sync: typeof import('./work/sync.ts')
  readonly 'watch-lists': typeof import('./work/watch-lists.ts')
}

/** The action of a command whose work is loaded when it runs. */
export function load<File extends keyof Works>(file: File, name: keyof Works[File]) {
  return act(async (...given) => {
    const work = await import(`./work/${file}.ts`)
    return work[name](...given)
  })
}
