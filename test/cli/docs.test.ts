import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'

const DOCS = path.resolve(import.meta.dirname, '../../docs')

interface Runnable {
  readonly name: string
  readonly command: Command
  /** Its own flags, and those of its parent. */
  readonly flags: ReadonlySet<string>
}

/** Every command that can be run, with its words. */
function runnables(parent: Command, words: readonly string[] = []): Runnable[] {
  return parent.commands.flatMap((command) => {
    const own = [...words, command.name()]
    const below = runnables(command, own)
    const flags = new Set(
      [...program.options, ...parent.options, ...command.options].map(({ long }) => long ?? ''),
    )
    // A command with subcommands may also run by itself.
    const runs = below.length === 0 || command.options.length > 0
    return [...(runs ? [{ name: own.join(' '), command, flags }] : []), ...below]
  })
}

const program = await createProgram()
const commands = runnables(program)

function helpOf(command: Command): string {
  const parts: string[] = []
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp()
  return parts.join('')
}

/** The command lines that a text shows, by their first words. */
function shownIn(text: string): string[] {
  return [
    ...text.matchAll(/(?:^|`|\n *(?:[A-Z_]+=\S+ )*)(?:bin\/)?farewatch ([a-z][^`\n#;]*)/g),
  ].map(([, line = '']) => line.trim())
}

/** The code of a page: its blocks and the spans between backticks. */
function codeOf(page: string): string {
  return [...page.matchAll(/```[^`]*```|`[^`\n]+`/g)].join('\n')
}

/** The command with the longest name that the line begins with. */
function commandOf(line: string): Runnable | undefined {
  const found = commands.filter(({ name }) => `${line} `.startsWith(`${name} `))
  return found.toSorted((a, b) => b.name.length - a.name.length)[0]
}

describe.each(commands)('farewatch $name', ({ name, command, flags }) => {
  it('has a description and a valid example', () => {
    const help = helpOf(command)
    const examples = shownIn(help.slice(help.lastIndexOf('\nExample')))

    expect(command.description()).not.toBe('')
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) {
      expect(commandOf(example)?.name).toBe(name)
      expect((example.match(/--[a-z-]+/g) ?? []).filter((flag) => !flags.has(flag))).toEqual([])
    }
  })
})

describe('every page', () => {
  it.each(
    readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md')),
  )('shows existing commands and flags: %s', (file) => {
    const shown = shownIn(codeOf(readFileSync(path.join(DOCS, file), 'utf8')))

    for (const line of shown) {
      const known = commandOf(line)
      expect(known?.name, line).toBeTypeOf('string')
      const flags = line.match(/(?<= )--[a-z-]+/g) ?? []
      expect(
        flags.filter((flag) => flag !== '--help' && known?.flags.has(flag) !== true),
        line,
      ).toEqual([])
    }
  })
})
