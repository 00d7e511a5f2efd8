import { type Command, Option } from 'commander'
import { RECEIVER_NETWORK, RECEIVER_PORT } from '../../platform/base/loopback.ts'
import { add, type Commands, help, load } from '../describe.ts'
import { addressOption, integerOption, numberOption } from '../option-parsers.ts'

export const COMMANDS: Commands = { sandbox: addSandbox, demo: addDemo, receive: addReceive }

const FAULT_HELP = `
A fault rule is NAME[:endpoint][:probability][:seconds][,key=value…].
The defaults are every endpoint, every request and no end.
docs/reference/sandbox.md describes the names.`

function listeningAt(command: Command, port: number): Command {
  return command
    .option('--host <address>', 'the address; 0.0.0.0 is every address', addressOption, '127.0.0.1')
    .option('--port <port>', 'the port; 0 takes any free one', integerOption(0, 65_535), port)
}

function addSandbox(program: Command): void {
  help(program, {
    examples: [
      '--routes routes.json --port 8090',
      '--speed 60 --fault status:verify:0.2:60,code=503 --fault half-list:routes',
    ],
    remark: FAULT_HELP,
  })
  const sandbox = listeningAt(program, 8090)
    .option('--seed <seed>', 'the seed of the world', integerOption(0, 2 ** 31), 1)
    .option('--speed <n>', 'world seconds per real second', numberOption(0, 1_000_000), 1)
    .option('--routes <file>', 'serve the Route[] of a JSON file instead of the world’s routes')
    .option('--token <token>', 'the accessToken that verify accepts', 'sandbox-token')
    .option(
      '--fault <rule>',
      'a fault rule; may be given several times',
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option('--faults <file>', 'a JSON array of fault rules; they come before those of --fault')
    .action(load('sandbox', 'serveSandbox'))
  add(sandbox, 'story', 'Show on the sandbox of a running "up" how a bad list and an outage look', {
    remark: `
The two steps follow each other and take two minutes. Ctrl-C ends them. The sandbox of "up" shows a sell-out, a
reopening, another price, other times and routes that come and go by itself, in its first two minutes.`,
  }).action(load('sandbox', 'runStory'))
  add(
    sandbox,
    'rival',
    'Run a script of forty lines on the flights of a running demo, and print what it would report',
    {
      remark: `
It compares each answer with the one before. "up" runs it too, to say what a script would have reported of a fault.`,
    },
  ).action(load('sandbox', 'runRival'))
}

function addDemo(program: Command): void {
  help(program, {
    remark: `
"bin/farewatch up" does this itself if UPSTREAM_BASE_URL is not set; else that must be the address of a sandbox.`,
  }).action(load('sandbox', 'watchDemo'))
}

function addReceive(program: Command): void {
  help(listeningAt(program, RECEIVER_PORT), {
    examples: ['--reseller demo'],
    remark: `
Without --reseller and --secret nothing is verified. Endpoints may deliver to this machine if WEBHOOK_ALLOWED_NETWORKS
contains ${RECEIVER_NETWORK}; "up" with its own database and sandbox allows it.`,
  })
    .option(
      '--reseller <name>',
      'create an endpoint of this reseller for it, and delete it at the end',
    )
    .addOption(
      new Option('--secret <whsec>', 'the secret of an endpoint that exists').conflicts('reseller'),
    )
    .action(load('receive', 'receive'))
}
