import { describe, expect, it } from 'vitest'
import { EXIT, exitOfError, UsageError } from '../../src/cli/exit-codes.ts'
import { NoIncidentError } from '../../src/fares/incidents.ts'
import type { AppError } from '../../src/platform/base/errors.ts'
import { UnknownKeyError } from '../../src/resellers/api-keys.ts'
import {
  DuplicateResellerError,
  InvalidResellerNameError,
  UnknownResellerError,
} from '../../src/resellers/resellers.ts'
import { NotHeldError, RunNotFoundError } from '../../src/routes/errors.ts'
import { QuestionError, SameFlightError } from '../../src/upstream/question.ts'
import { UnknownReferencesError } from '../../src/watches/change-watches.ts'
import {
  MalformedWatchFileError,
  UnreadableWatchFileError,
} from '../../src/watches/files/read-text-blocks.ts'
import { UnknownWatchListError } from '../../src/watches/watch-lists.ts'

describe('the exit code of a failure', () => {
  it.each<AppError>([
    new UsageError('name either --since or --from'),
    new QuestionError('flightId must not be empty'),
    new SameFlightError(),
    new InvalidResellerNameError('', 'must not be empty'),
    new UnreadableWatchFileError('a.csv', 'the file does not exist'),
    new MalformedWatchFileError('a.csv', 5, 'a quote is never closed'),
  ])('is 2 if the command line is wrong: %s', (err) => {
    expect(exitOfError(err)).toBe(EXIT.usage)
  })

  it.each<AppError>([
    new RunNotFoundError(99),
    new NoIncidentError('mass_loss'),
    new UnknownKeyError(99),
    new UnknownResellerError('nope'),
    new UnknownWatchListError('nope'),
    new UnknownReferencesError('summer', ['nope']),
    new NotHeldError(7, 'applied'),
    new DuplicateResellerError('nope'),
  ])('is 1 if what is named does not exist, or is in another state: %s', (err) => {
    expect(exitOfError(err)).toBe(EXIT.failed)
  })
})
