// Asks for each number of a stage before it shows it. The reader's answers stay in the browser.

class Predict {
  // `id` distinguishes the stages in the reader's browser.
  constructor(root, id, prediction) {
    const {gpu, names, asked} = prediction;
    this.key = "gemm_steps.predict." + id;
    this.names = names;
    this.asked = asked;
    this.answers = this.read();
    this.right = new Set();  // the questions of which the first prediction is
    this.score = make("p", {class: "muted", role: "status"});
    root.replaceChildren(
      make("p", {class: "muted"}, say(words.predict.about, {...names, gpu, names: Object.keys(names).join(", ")})),
      make("ol", {class: "asked"}, ...asked.map((_, i) => this.question(i))), this.score,
      make("button", {type: "button", onclick: () => this.forget(root, id, prediction)}, words.predict.forget));
    this.count();
  }

  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      return {};  // a browser may forbid storage
    }
  }

  write() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.answers));
    } catch {
      // The predictions then last as long as the page.
    }
  }

  forget(root, id, prediction) {
    this.answers = {};
    this.write();
    new Predict(root, id, prediction);
  }

  question(number) {
    const [question] = this.asked[number];
    const text = words.predict;
    const input = make("input", {type: "text", inputmode: "text", autocomplete: "off", spellcheck: "false", "aria-label": text.answer});
    const verdict = make("p", {class: "verdict", "aria-live": "polite"});
    const check = (event) => {
      event.preventDefault();
      this.judge(number, input.value, verdict);
    };
    const form = make("form", {onsubmit: check}, input, make("button", {type: "submit"}, text.check),
      make("button", {type: "button", onclick: () => this.judge(number, "", verdict)}, text.show));
    if (number in this.answers) {
      input.value = this.answers[number];
      this.judge(number, input.value, verdict);
    }
    return make("li", {}, make("p", {}, question), form, verdict);
  }

  // An empty text gives up the question. The first prediction counts.
  judge(number, typed, verdict) {
    const [, value, answer, reason] = this.asked[number];
    let sentence = say(words.predict.is, {value: answer});
    if (typed.trim() !== "") {
      try {
        const guess = evaluateFormula(typed, this.names);
        sentence = judged(guess, value);
        if (isClose(guess, value) && typed === (this.answers[number] ?? typed)) this.right.add(number);
      } catch (problem) {
        setText(verdict, say(words.predict.again, {problem: problem.message}));
        return;
      }
      if (reason !== "") sentence += " " + answer + ".";
    }
    if (!(number in this.answers)) {
      this.answers[number] = typed;
      this.write();
    }
    setText(verdict, reason === "" ? sentence : sentence + " " + reason);
    this.count();
  }

  count() {
    setText(this.score, say(words.predict.score, {right: this.right.size, asked: this.asked.length}));
  }
}

// As `--ask` judges (src/show/report/known.cpp).
function isClose(answer, value) {
  return Math.abs(answer - value) < 0.005 * Math.max(1, Math.abs(value));
}

function judged(answer, value) {
  const text = words.predict;
  const shown = (number) => number.toLocaleString("en-US", {maximumFractionDigits: 4});
  if (isClose(answer, value)) return say(text.right, {value: shown(value)});
  const times = answer < value ? value / answer : answer / value;
  return say(answer < value ? text.few : text.many, {
    answer: shown(answer), value: shown(value), difference: shown(Math.abs(answer - value)),
    factor: answer > 0 ? say(text.factor, {times: shown(Math.round(100 * times) / 100)}) : "",
  });
}
