import type { Command } from 'commander'
import { call, list } from '../api-command.ts'
import { add, type Commands, load } from '../describe.ts'
import { printable } from '../text/text-format.ts'

function addAnswers(answers: Command): void {
  add(
    answers,
    'list',
    'List members of answers, and totals unlike their sums, the latest first',
  ).action(
    list('GET /answer-habits', {
      columns: {
        name: 'name',
        counts: ({ acceptedAt, isUsual }) =>
          acceptedAt === null ? (isUsual ? 'usual' : 'no') : 'accepted',
        answers: 'answers',
        share: ({ share }) => `${Math.round(100 * share)} %`,
        since: 'firstSeenAt',
        until: 'lastSeenAt',
      },
      none: 'answers have only what the interface has',
    }),
  )
  add(answers, 'accept <name>', 'Let answers count that have it', {
    examples: ['seats'],
    remark: `
"available: false" with a member that the interface does not have counts for no
loss until most answers have had it for a day: it may say that the answer is
none. Accept it if the upstream says that it means nothing of the kind.`,
  })
    .option('--undo', 'let them count only once it is usual')
    .action(
      call(
        'PATCH /answer-habits/{name}',
        ({ name, acceptedAt }) =>
          `answers with ${printable(name)} count ${acceptedAt === null ? 'once it is usual' : 'from now on'}`,
        (_name: string, { undo = false }: { readonly undo?: boolean }) => ({ accepted: !undo }),
      ),
    )
}

export const COMMANDS: Commands = { upstream: addUpstream, answers: addAnswers }

function addUpstream(program: Command): void {
  add(
    program,
    'probe',
    'Call each endpoint of the upstream once and report what its interface leaves open',
    {
      examples: ['--flight 12345'],
      remark: 'Each call takes a slot of the budget. Exits with 1 if a documented call fails.',
    },
  )
    .option('--flight <id>', 'the flight to verify; unset: one that is watched')
    .option('--negative', 'also make calls that must fail, such as verify without a token')
    .action(load('probe', 'probe'))
}
