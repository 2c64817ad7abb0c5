// Texts of many kinds, by which the estimate of tokens is measured. Each has more than a thousand characters.
import { readdirSync, readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { randomFrom } from './random.js'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const manual = (language: string) => read(`node_modules/@biomejs/biome/README.${language}.md`)

const domain = 'src/handoff/domain/'
const typescript = readdirSync(new URL(domain, root))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => read(domain + name))
  .join('\n')

const python = `
import asyncio
from dataclasses import dataclass, field
from typing import Any, Optional

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Invoice:
    """One month of one customer, with its lines and its tax."""

    number: str
    customer_id: int
    lines: list["InvoiceLine"] = field(default_factory=list)
    tax_rate: Decimal = Decimal("0.19")

    def total(self) -> Decimal:
        net = sum((line.amount * line.quantity for line in self.lines), Decimal(0))
        return (net * (1 + self.tax_rate)).quantize(Decimal("0.01"))

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Invoice":
        if row.get("number") is None:
            raise ValueError(f"invoice without a number: {row!r}")
        return cls(number=row["number"], customer_id=int(row["customer_id"]))


async def fetch_invoices(session, url: str, *, limit: int = 100, cursor: Optional[str] = None):
    params = {"limit": limit, **({"cursor": cursor} if cursor else {})}
    async with session.get(url, params=params, timeout=30) as response:
        response.raise_for_status()
        payload = await response.json()
    for row in payload["data"]:
        yield Invoice.from_row(row)


def test_total_is_rounded(self):
    invoice = Invoice("2024-0017", 4, [InvoiceLine(amount=Decimal("9.99"), quantity=3)])
    self.assertEqual(invoice.total(), Decimal("35.66"))
    with self.assertRaises(ValueError):
        Invoice.from_row({"customer_id": "4"})
`

const go = `
package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

var ErrNotFound = errors.New("store: key not found")

// Store keeps values in memory and writes them to disk in the background.
type Store struct {
	mu      sync.RWMutex
	entries map[string]*entry
	flush   chan struct{}
}

type entry struct {
	value     []byte
	expiresAt time.Time
}

func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	if !ok || (!e.expiresAt.IsZero() && time.Now().After(e.expiresAt)) {
		return nil, fmt.Errorf("get %q: %w", key, ErrNotFound)
	}
	return append([]byte(nil), e.value...), nil
}

func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		value, err := s.Get(r.Context(), r.URL.Path)
		if errors.Is(err, ErrNotFound) {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(value)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func TestGetReturnsCopy(t *testing.T) {
	s := &Store{entries: map[string]*entry{"a": {value: []byte("x")}}}
	for i := 0; i < 3; i++ {
		if got, err := s.Get(context.Background(), "a"); err != nil || string(got) != "x" {
			t.Fatalf("got %q, %v; want %q", got, err, "x")
		}
	}
}
`

const rust = `
use std::{collections::HashMap, fmt, io, path::{Path, PathBuf}};

/// An error while reading one of the ignore files.
#[derive(Debug, Clone, PartialEq)]
pub enum ParseError {
    InvalidGlob { line: usize, glob: String },
    Io(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ParseError::InvalidGlob { line, ref glob } => write!(f, "line {}: bad glob '{}'", line, glob),
            ParseError::Io(ref message) => message.fmt(f),
        }
    }
}

impl From<io::Error> for ParseError {
    fn from(err: io::Error) -> ParseError {
        ParseError::Io(err.to_string())
    }
}

pub struct Walker<'a, F: Fn(&Path) -> bool> {
    root: PathBuf,
    filter: F,
    seen: HashMap<&'a str, u64>,
}

impl<'a, F: Fn(&Path) -> bool> Walker<'a, F> {
    pub fn next_entry(&mut self) -> Result<Option<PathBuf>, ParseError> {
        let mut stack = vec![self.root.clone()];
        while let Some(path) = stack.pop() {
            if !(self.filter)(&path) {
                continue;
            }
            if path.is_dir() {
                for entry in std::fs::read_dir(&path)? {
                    stack.push(entry?.path());
                }
            } else {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn display_names_the_line() {
        let err = super::ParseError::InvalidGlob { line: 7, glob: "a[".to_string() };
        assert_eq!(err.to_string(), "line 7: bad glob 'a['");
    }
}
`

const german = `
Die Anwendung liest beim Start ihre Einstellungen aus einer Datei im Verzeichnis des Benutzers. Fehlt diese Datei, so wird sie mit den üblichen
Werten angelegt. Änderungen werden erst nach einem Neustart wirksam; eine Ausnahme bilden die Einstellungen der Oberfläche. Wer mehrere Rechner
verwendet, kann das Verzeichnis auf einem gemeinsamen Laufwerk ablegen, sollte dann aber darauf achten, dass nicht zwei Rechner gleichzeitig
schreiben. Bei einer Störung der Verbindung werden die Daten zunächst zwischengespeichert und später übertragen. Die Übertragung lässt sich im
Protokoll nachverfolgen, das für jeden Vorgang Zeitpunkt, Größe und Ergebnis enthält. Schlägt sie dreimal hintereinander fehl, erscheint eine
Meldung, und der Vorgang muss von Hand wiederholt werden.

Für die Berechnung der Rechnungssumme werden zunächst alle Einzelbeträge addiert und anschließend der Steuersatz angewendet. Gerundet wird nur
einmal, nämlich am Ende, damit sich Rundungsfehler nicht aufsummieren. Gutschriften erscheinen als negative Beträge und verringern die
Bemessungsgrundlage. Die Geschäftsbedingungen sehen vor, dass Zahlungen innerhalb von vierzehn Tagen eingehen; danach wird eine Mahnung verschickt.
Rückfragen beantwortet die Buchhaltung werktags zwischen neun und siebzehn Uhr. Voraussetzung für die Bearbeitung ist die vollständige Angabe der
Kundennummer sowie des Rechnungsdatums.
`

const arabic = `
يقرأ البرنامج إعداداته عند بدء التشغيل من ملف في مجلد المستخدم. إذا لم يكن هذا الملف موجودًا فإنه يُنشأ بالقيم المعتادة. لا تصبح التغييرات
سارية المفعول إلا بعد إعادة التشغيل، باستثناء إعدادات الواجهة. يمكن لمن يستخدم أكثر من جهاز أن يضع المجلد على قرص مشترك، ولكن يجب الانتباه إلى ألا
يكتب جهازان في الوقت نفسه. عند انقطاع الاتصال تُحفظ البيانات مؤقتًا ثم تُرسل لاحقًا. يمكن متابعة الإرسال في السجل الذي يحتوي على الوقت والحجم
والنتيجة لكل عملية. وإذا فشلت العملية ثلاث مرات متتالية تظهر رسالة ويجب تكرار العملية يدويًا.

لحساب مجموع الفاتورة تُجمع أولًا كل المبالغ المفردة ثم يُطبق معدل الضريبة. يتم التقريب مرة واحدة فقط في النهاية حتى لا تتراكم أخطاء التقريب.
تظهر المبالغ المستردة كأرقام سالبة وتقلل من أساس الحساب. تنص شروط العمل على أن يتم الدفع خلال أربعة عشر يومًا، وبعد ذلك يُرسل تذكير. يجيب قسم
المحاسبة عن الأسئلة في أيام العمل بين الساعة التاسعة والخامسة. يُشترط لمعالجة الطلب ذكر رقم العميل وتاريخ الفاتورة كاملين.
`

const stackTraces = Array.from(
  { length: 12 },
  (_, index) => `TypeError: Cannot read properties of undefined (reading 'sandboxId')
    at Object.createSandbox (file:///srv/app/dist/chunk-${1_000 + index * 37}.js:${index * 97 + 12}:${index + 5})
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at async Promise.all (index ${index})
    at async startWorkflow (/srv/app/node_modules/@scope/package-name/lib/workflow/start.js:88:21) {
  code: 'ERR_INVALID_STATE', errno: -${index + 2}, syscall: 'connect', address: '10.0.${index}.17', port: ${8_000 + index}
}
Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/runners.py", line ${190 + index}, in run
    return runner.run(main)
java.lang.IllegalStateException: Connection pool is exhausted (0x7f${index}a3c)
	at com.example.billing.InvoiceService.loadInvoices(InvoiceService.java:${40 + index})
	at jdk.internal.reflect.DirectMethodHandleAccessor.invoke(DirectMethodHandleAccessor.java:103)`,
).join('\n')

function bytes(length: number, seed: number): Buffer {
  const random = randomFrom(seed)
  return Buffer.from(Array.from({ length }, () => random.below(256)))
}

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')

const base64 = `${bytes(3_000, 1).toString('base64')}\n${lines(40, (index) => bytes(57, index).toString('base64'))}`
const hexadecimal = lines(60, (index) => `${bytes(32, index).toString('hex')}  src/file-${index}.ts`)
const numbers = lines(150, (index) =>
  [...bytes(6, index)].map((byte, column) => (byte * 1.37 ** column - 100).toFixed(column)).join(','),
)
const whitespace = lines(
  300,
  (index) =>
    `${index % 3 === 0 ? '\t'.repeat(index % 7) : ' '.repeat((index * 5) % 40)}${['}', 'x = 1', '', 'end', ')'][index % 5]}`,
)
const emoji = lines(80, (index) => ['🚀 Fast ✅', '🐛 fixed 🎉🎉', '👍🏽 ❤️ ✨', '⚠️ 📝 notes', '👩‍👩‍👧 🇩🇪'][index % 5]!)

/** Ordinary text of a repository. */
export const codeAndProse: Record<string, string> = {
  TypeScript: typescript,
  Python: python,
  Go: go,
  Rust: rust,
  'minified JavaScript': transformSync(read(`${domain}estimate-tokens.ts`) + read(`${domain}settings.ts`), {
    loader: 'ts',
    minify: true,
  }).code,
  JSON: `${read('package.json')}${read('vercel.json')}${read('tsconfig.json')}`,
  YAML: read('action.yml'),
  'English prose': read('README.md'),
  'German prose': german,
  'stack traces': stackTraces,
}

/** Text of other scripts, and generated text. */
export const otherTexts: Record<string, string> = {
  French: manual('fr'),
  Spanish: manual('es'),
  Polish: manual('pl'),
  Russian: manual('ru'),
  Ukrainian: manual('uk'),
  Hindi: manual('hi'),
  Arabic: arabic,
  Chinese: manual('zh-CN'),
  Japanese: manual('ja'),
  Korean: manual('kr'),
  base64,
  hexadecimal,
  numbers,
  whitespace,
  emoji,
}
