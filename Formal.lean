module
public import Formal.Algebra
public import Formal.Matrices
public import Formal.Profile
public import Formal.Spread
public import Formal.Probability
public import Formal.Baseline
public import Formal.Softmax
public import Formal.Concentration
public import Formal.Rotary
public import Formal.Bands
public import Formal.Circuits
public import Formal.Activation
