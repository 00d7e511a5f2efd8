import { type Command, InvalidArgumentError } from 'commander'
import { WORK_ROLES, type WorkRole } from '../../platform/base/kinds.ts'
import { splitList } from '../../platform/base/text.ts'
import { act, type Commands, help, load, type ProgramOptions } from '../describe.ts'
import { type ApiFlags, callApi } from './call-api.ts'

const STOPS = 'Stops in order on SIGTERM or Ctrl-C, within ten seconds.'

export const COMMANDS: Commands = {
  up: addUp,
  worker: addWorker,
  api: addApi,
  config: addConfig,
  openapi: addOpenApi,
}

function addUp(program: Command): void {
  help(program, { remark: STOPS }).action(load('services', 'runUp'))
}

function addWorker(program: Command): void {
  help(program, {
    examples: ['--roles sync,check'],
    remark: `
${STOPS}
Processes with different roles may run apart, on any machines. Each role must
run somewhere: status, doctor and an alert name one that does not.`,
  })
    .option('--roles <names>', `some of ${WORK_ROLES.join(', ')}, with commas`, readRoles)
    .action(load('services', 'runWorker'))
}

function readRoles(text: string): WorkRole[] {
  const named = splitList(text)
  const roles = WORK_ROLES.filter((role) => named.includes(role))
  if (roles.length > 0 && roles.length === new Set(named).size) return roles
  throw new InvalidArgumentError(`It must be some of ${WORK_ROLES.join(', ')}, with commas.`)
}

function addApi(program: Command): void {
  help(program, {
    examples: ['', 'GET "/watch-changes?after=0" --reseller demo'],
    remark: `${STOPS} A call exits with 1 if its answer is an error.`,
  })
    .argument('[method]', 'call the API that runs already: GET, POST, PUT, PATCH or DELETE')
    .argument('[path]', 'the path and query below /api/v1')
    .option('--data <json>', 'the body of a call; @FILE reads a file, and - standard input')
    .option('--reseller <name>', 'the reseller for whom the operator calls')
    .option('--key-file <file>', 'a file with a key; unset: the key of an operator')
    .option('--url <url>', 'where to call; unset: as for every command')
    .action(
      act(async (method: string | undefined, path: string | undefined, flags: ApiFlags) => {
        if (method !== undefined) return callApi(method, path, flags)
        const { runApi } = await import('../work/services.ts')
        return runApi()
      }),
    )
}

function addConfig(program: Command): void {
  help(program).action(load('config', 'printConfig'))
}

function addOpenApi(program: Command): void {
  help(program, {
    examples: ['> openapi.json'],
  }).action(
    act(async (_options: ProgramOptions) => {
      const { API_DOCUMENT } = await import('../../app/api-document.ts')
      process.stdout.write(`${JSON.stringify(API_DOCUMENT)}\n`)
    }),
  )
}
