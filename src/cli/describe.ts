import type { Command } from 'commander'

/** The options of the program, which every command has. */
export interface ProgramOptions {
  readonly json?: boolean
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

/** The action of a command. */
export function act<Given extends unknown[]>(run: Run<Given>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const exit = await run(...([...given.slice(0, -2), command.optsWithGlobals()] as Given))
    if (typeof exit === 'number') process.exitCode = exit
  }
}

/** The action of a command that works without the API: its work is loaded when it runs. */
export function load<Module, Given extends unknown[]>(
  module: () => Promise<Module>,
  runOf: (module: Module) => Run<Given>,
) {
  return act(async (...given: Given) => runOf(await module())(...given))
}
