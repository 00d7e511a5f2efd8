import type { Command } from 'commander'
import { API_DOCUMENT } from '../../app/api-document.ts'
import { loadConfig } from '../../platform/config/config.ts'
import { redactedConfig } from '../../platform/config/settings.ts'
import { createTerminal } from '../terminal.ts'
import { example, table } from '../text/text-format.ts'

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('Print the settings in force, without secrets')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('config'))
    .action(({ json }: { json?: boolean }) => {
      const lines = redactedConfig(loadConfig())
      const values = Object.fromEntries(lines.map(({ name, value }) => [name, value]))
      const rows = lines.map((line) => [
        line.name,
        String(line.value ?? '-'),
        line.default ? 'default' : 'set',
        line.about,
      ])
      createTerminal(process).print(json, values, () =>
        table(['setting', 'value', 'from', 'what it does'], rows),
      )
    })
}

export function addOpenApiCommand(program: Command): void {
  program
    .command('openapi')
    .description('Print the OpenAPI document of the API')
    .addHelpText('after', example('openapi > openapi.json'))
    .action(() => void process.stdout.write(`${JSON.stringify(API_DOCUMENT)}\n`))
}
