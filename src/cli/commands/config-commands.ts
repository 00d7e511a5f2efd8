import type { Command } from 'commander'
import { API_DOCUMENT } from '../../app/api-document.ts'
import { loadConfig } from '../../config/config.ts'
import { redactedConfig } from '../../config/config-report.ts'
import { createTerminal } from '../terminal.ts'
import { table } from '../text/text-format.ts'

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('print the configuration in force, without its secrets')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch config')
    .action(({ json }: { json?: boolean }) => {
      const lines = redactedConfig(loadConfig())
      const terminal = createTerminal(process)
      if (json === true) {
        const values = Object.fromEntries(lines.map(({ name, value }) => [name, value]))
        terminal.out(JSON.stringify(values))
        return
      }
      const rows = lines.map((line) => [
        line.name,
        line.value === null ? '-' : String(line.value),
        line.default ? 'default' : 'set',
        line.about,
      ])
      terminal.out(table(['name', 'value', 'from', 'what'], rows))
    })
}

export function addOpenApiCommand(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the read API')
    .addHelpText('after', '\nExample:\n  bin/farewatch openapi > openapi.json')
    .action(() => void process.stdout.write(`${JSON.stringify(API_DOCUMENT, null, 2)}\n`))
}
