import { loadConfig } from '../../platform/config/config.ts'
import { type ConfigLine, redactedConfig } from '../../platform/config/settings.ts'
import type { ProgramOptions } from '../describe.ts'
import { createTerminal } from '../terminal.ts'
import { table } from '../text/text-format.ts'

export async function printConfig(options: ProgramOptions): Promise<void> {
  const lines = redactedConfig(loadConfig())
  const values = Object.fromEntries(lines.map(({ name, value }) => [name, value]))
  const terminal = createTerminal(process, options)
  terminal.print(values, () => configText(lines, terminal.width))
}

/** A table for each group of settings. */
function configText(lines: readonly ConfigLine[], width: number): string {
  return [...Map.groupBy(lines, ({ group }) => group)]
    .map(([group, settings]) => {
      const rows = settings.map(({ name, value, default: isDefault, example }) => [
        name,
        String(value ?? '-'),
        isDefault ? 'default' : 'set',
        example,
      ])
      return `${group}\n${table(['setting', 'value', 'from', 'example'], rows, width)}`
    })
    .join('\n\n')
}
