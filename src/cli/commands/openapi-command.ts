import type { Command } from 'commander'
import { API_DOCUMENT } from '../../app/api-document.ts'

export function addOpenApiCommand(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the read API')
    .addHelpText('after', '\nExample:\n  farewatch openapi > openapi.json')
    .action(() => void process.stdout.write(`${JSON.stringify(API_DOCUMENT, null, 2)}\n`))
}
