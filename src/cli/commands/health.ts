import type { Command } from 'commander'
import { add, type Commands, load } from '../describe.ts'

const work = () => import('../work/health.ts')

export const COMMANDS: Commands = { status: addStatus, doctor: addDoctor }

function addStatus(program: Command): void {
  add(program, 'status', 'Show the state of everything on one screen, problems in capitals', {
    examples: ['--watch'],
    remark: 'Exits with 1 if an operator must act: if a warning in --json is "bad".',
  })
    .option('--watch', 'repeat every two seconds until Ctrl-C')
    .action(load(work, ({ printStatus }) => printStatus))
}

function addDoctor(program: Command): void {
  add(
    program,
    'doctor',
    'Check everything that farewatch needs, and say what to do about problems',
    {
      remark: `
Checks the database, the queue, the workers and the state of the work. Changes
nothing and does not call the upstream. WRONG needs action; a warning is worth
knowing. Exits with 1 if something is wrong.`,
    },
  ).action(load(work, ({ diagnose }) => diagnose))
}
