import { demoSettingsOf } from '../../embedded/demo-settings.ts'
import { loadConfig } from '../../platform/config/config.ts'
import { type ConfigLine, redactedConfig } from '../../platform/config/settings.ts'
import type { ProgramOptions } from '../describe.ts'
import { createTerminal } from '../terminal.ts'
import { table } from '../text/text-format.ts'

export async function printConfig(options: ProgramOptions): Promise<void> {
  const config = loadConfig()
  const demo = demoSettingsOf(config)
  const lines = redactedConfig({ ...config, ...demo })
  const values = Object.fromEntries(lines.map(({ name, value }) => [name, value]))
  const terminal = createTerminal(process, options)
  terminal.print(values, () => configText(lines, demo, terminal.width))
}

/** A table for each group of settings. */
function configText(lines: readonly ConfigLine[], demo: object, width: number): string {
  return [...Map.groupBy(lines, ({ group }) => group)]
    .map(([group, settings]) => {
      const rows = settings.map(({ name, value, default: isDefault, example }) => [
        name,
        String(value ?? '-'),
        name in demo ? 'demo' : isDefault ? 'default' : 'set',
        example,
      ])
      return `${group}\n${table(['setting', 'value', 'from', 'example'], rows, width)}`
    })
    .join('\n\n')
}
