// tests/counts/leaving.cpp - functions left by exceptions and by longjmp, one that is entered again, virtual calls, and what runs before and after main.
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static std::jmp_buf Way;
static volatile int Sink;

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int Side) const = 0;
};
struct Square : Shape {
  int area(int Side) const override { return Side * Side; }
};
struct Odd : Shape {
  int area(int Side) const override {
    if (Side % 7 == 3)
      throw std::runtime_error("odd");
    return Side;
  }
};

struct Guard {
  int Size;
  explicit Guard(int Size) : Size(Size) {}
  ~Guard() {
    for (int I = 0; I < Size; ++I)
      Sink = Sink + I;
  }
};

static int caught(const std::vector<std::unique_ptr<Shape>> &Shapes) {
  int Total = 0, Failed = 0;
  for (int Side = 0; Side < 200; ++Side)
    for (const auto &S : Shapes) {
      try {
        Guard G(Side % 5);
        for (int I = 0; I < Side; ++I)
          Total += I & 3;
        Total += S->area(Side);
      } catch (const std::exception &E) {
        Failed += static_cast<int>(std::string(E.what()).size());
      }
    }
  return Total + Failed;
}

__attribute__((noinline)) static void jump(int N) {
  int Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += I ^ N;
  Sink = Sum;
  if (N > 3)
    std::longjmp(Way, N);
}

static int again() {
  volatile int Round = 0;
  int Got = setjmp(Way);
  for (int I = 0; I < 10; ++I)
    Sink = Sink + I;
  for (int N = Got; N < 50; ++N) {
    Round = Round + 1;
    jump(N + 1);
  }
  return Round + Got;
}

struct Early {
  std::vector<int> Numbers;
  Early() {
    for (int I = 0; I < 100; ++I)
      Numbers.push_back(I);
  }
  ~Early() {
    for (int N : Numbers)
      Sink = Sink + N;
  }
};
static Early Global;

int main() {
  std::vector<std::unique_ptr<Shape>> Shapes;
  Shapes.push_back(std::make_unique<Square>());
  Shapes.push_back(std::make_unique<Odd>());
  std::printf("%d %d\n", caught(Shapes), again());
  return 0;
}
